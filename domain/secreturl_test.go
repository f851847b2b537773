package domain_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestHideURL(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"redis://localhost:6379", "redis://localhost:6379"},
		{"redis://u:hunter2@host:6379/?tenancy=prefix", "redis://…@host:6379/?tenancy=prefix"},
		{"redis://:hunter2@host", "redis://…@host"},
		{"redis://:hun/te?r@2@host", "redis://…@host"},
		{"user:hunter2@host", "…@host"}, // a scheme was forgotten
		{"nats://hunter2@a:4222,b:4222", "nats://…@a:4222,b:4222"},
		{"nats://u:hunter2@a,u:hunter2@b?creds=f", "nats://…@b?creds=f"},
		{"nats:?listen=:4222&leaf=nats://u:hunter2@host", "nats:?listen=:4222&leaf=nats://…@host"},
		{"nats:?leaf=nats%3A%2F%2Fu%3Ahunter2%40host&sync=always", "nats:?leaf=nats%3A%2F%2F…%40host&sync=always"},
		{"nats:?leaf=nats%3A//u:hunter2%40host", "nats:?leaf=nats%3A//…%40host"},
		{"nats:?leaf=nats://u:hunter2%40host", "nats:?leaf=nats://…%40host"},
		{"redis://u:hunter2%40host", "redis://…%40host"}, // the wrong @ was escaped
		{"postgres://u:hunter2@host/db?application_name=me%40x", "postgres://…@host/db?application_name=…%40x"},
		{"nats:?token=hunter2&leaf=nats://host", "nats:?token=…&leaf=nats://host"},
		{"user:hun://ter2@host", "…@host"}, // a scheme was forgotten, and the password looks like the end of one
		{"mycelium:http://user:hunter2@host", "mycelium:http://…@host"},
		{"postgres://host/db?p%61ssword=hunter2", "postgres://host/db?p%61ssword=…"},
		{"postgres://host/db?password=her hunter2&x=1", "postgres://host/db?password=…&x=1"},
		{"nats://host?api_key=hunter2", "nats://host?api_key=…"},
		{"postgres://host/db?user=me&password=hunter2&sslmode=verify-full", "postgres://host/db?user=me&password=…&sslmode=verify-full"},
		{"postgres://host/db?sslpassword=hunter2", "postgres://host/db?sslpassword=…"},
		{"nats:?token_file=/run/token", "nats:?token_file=/run/token"},
		{"--board=redis://u:hunter2@host", "--board=redis://…@host"},
		{"@/run/secrets/board", "@/run/secrets/board"},
		{"7@acme", "…@acme"},
		{"", ""},
	} {
		got := domain.HideURL(c.text)
		if got != c.want || strings.Contains(got, "hunter") {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestHasSecret(t *testing.T) {
	for text, want := range map[string]bool{
		"redis://u:p@h": true, "postgres://h/d?password=p": true, "--bus=nats://t@h": true,
		"redis://h": false, "@/run/board": false, "7@acme": false, "me@example.com": false, "etcd://a:1,b:2/p": false,
	} {
		if got := domain.HasSecret(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
