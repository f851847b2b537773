package natsstream

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

func TestSettingsThatCostSomething(t *testing.T) {
	for _, tt := range []struct {
		name string
		info jetstream.StreamInfo
		want []string
	}{
		{"as it is made", jetstream.StreamInfo{}, nil},
		{"it may throw away what nobody read", jetstream.StreamInfo{Config: jetstream.StreamConfig{MaxMsgs: 5, Discard: jetstream.DiscardOld}},
			[]string{"at max_msgs 5, read or not"}},
		{"it refuses at its bound", jetstream.StreamInfo{Config: jetstream.StreamConfig{MaxMsgs: 5, Discard: jetstream.DiscardNew}}, nil},
		{"nearly full", jetstream.StreamInfo{Config: jetstream.StreamConfig{MaxBytes: 100, Discard: jetstream.DiscardNew}, State: jetstream.StreamState{Bytes: 90}},
			[]string{"has 90 of 100 bytes"}},
		{"replicas", jetstream.StreamInfo{Cluster: &jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{{Name: "a", Current: true}, {Name: "b", Offline: true},
			{Name: "c", Lag: 7}}}}, []string{"a replica on b, which is away", "on c that is 7 operations behind"}},
	} {
		tt.info.Config.Name = "S"
		got := settingsOf(&tt.info)
		if len(got) != len(tt.want) {
			t.Errorf("%s: got %q, want %d", tt.name, got, len(tt.want))
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(got[i], want) || !strings.HasPrefix(got[i], "stream S ") {
				t.Errorf("%s: got %q, want %q in it", tt.name, got[i], want)
			}
		}
	}
}
