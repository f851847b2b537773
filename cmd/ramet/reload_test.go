package main

import (
	"strings"
	"testing"
)

func TestWhatWantsARestartIsNamed(t *testing.T) {
	for _, tt := range []struct{ name, began, now, want string }{
		{"nothing changed", "lease: 30s\nslots: {shell: 2}\n", "lease: 30s\nslots: {shell: 2}\n", ""},
		{"an empty list is none", "", "buses: []\nslots: {}\n", ""},
		{"roles of sagas", "", "sagas: {off: true, effects_off: true}\n", "sagas.off sagas.effects_off"},
		{"what is taken up", "", "egress: [none]\nsecrets: {A: {env: A}}\nsagas: {names: [order], tenants: [acme], partitions: [1]}\n", ""},
		{"a map", "slots: {shell: 2}\n", "slots: {shell: 3}\n", "slots"},
		{"deep in a block", "", "sagas: {gateway: {url: 'https://g.example.com', timeout: 3s}}\n", "sagas.gateway.url sagas.gateway.timeout"},
		{"a pointer", "priority_aging: 1m\n", "priority_aging: 0s\n", "priority_aging"},
		{"in blocks that have others within", "", "doors: {connections: 100, cors_origins: ['https://a.example.com']}\ncircle_slots: 3\n",
			"doors.connections doors.cors_origins circle_slots"},
	} {
		var of [2]config
		for i, text := range []string{tt.began, tt.now} {
			c, err := loadConfig(writeConfig(t, text))
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			of[i] = c
		}
		if got := strings.Join(restartKeys(of[0], of[1]), " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
