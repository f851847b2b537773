package node_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/node"
)

const mib = 1 << 20

func TestANearlyFullDiskStopsIntakeBeforeEffects(t *testing.T) {
	for _, tt := range []struct {
		name            string
		cfg             node.DiskConfig
		free, total     int64
		intake, effects bool
	}{
		{"a large disk keeps a gibibyte free", node.DiskConfig{}, 1024 * mib, 500_000 * mib, true, true},
		{"less than that stops intake alone", node.DiskConfig{}, 1023 * mib, 500_000 * mib, false, true},
		{"less than half of it stops effects, too", node.DiskConfig{}, 511 * mib, 500_000 * mib, false, false},
		{"a disk of 8 GiB keeps a tenth", node.DiskConfig{}, 819 * mib, 8192 * mib, false, true},
		{"a small one keeps what the board writes at once", node.DiskConfig{}, 127 * mib, 300 * mib, false, true},
		{"and takes in what is above that", node.DiskConfig{}, 128 * mib, 300 * mib, true, true},
		{"a tiny one keeps half", node.DiskConfig{}, 33 * mib, 64 * mib, true, true},
		{"bounds that are set", node.DiskConfig{IntakeBytes: 10 * mib, EffectsBytes: 9 * mib}, 9 * mib, 100 * mib, false, true},
		{"no bounds", node.DiskConfig{IntakeBytes: -1, EffectsBytes: -1}, 0, 100 * mib, true, true},
		{"no bound for intake is none for effects by default", node.DiskConfig{IntakeBytes: -1}, 0, 100 * mib, true, true},
	} {
		d := node.NewDisk("/data", tt.cfg, func(string) (int64, int64, error) { return tt.free, tt.total, nil }, nil)
		for what, got := range map[string]struct {
			err error
			may bool
		}{"intake": {d.Intake(), tt.intake}, "effects": {d.Effects(), tt.effects}} {
			if got.may != (got.err == nil) || !got.may && (!errors.Is(got.err, domain.ErrExhausted) || !strings.Contains(got.err.Error(), "/data is nearly full")) {
				t.Errorf("%s: %s: got %v, want it allowed: %v", tt.name, what, got.err, got.may)
			}
		}
	}
}

func TestIntakeComesBackByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free, fault := int64(200*mib), error(nil)
		d := node.NewDisk("/data", node.DiskConfig{IntakeBytes: 160 * mib}, func(string) (int64, int64, error) { return free, 1000 * mib, fault }, nil)
		step := func(now int64, err error, may bool) {
			t.Helper()
			free, fault = now, err
			time.Sleep(time.Second)
			if got := d.Intake(); (got == nil) != may {
				t.Errorf("with %d MiB free: got %v, want it allowed: %v", now/mib, got, may)
			}
			if n, ok := d.Free(); ok != (err == nil) || ok && n != now {
				t.Errorf("free: got %d, %v, want %d", n, ok, now)
			}
		}
		step(200*mib, nil, true)
		step(159*mib, nil, false)
		step(165*mib, nil, false) // not with the first byte, or it would come and go
		step(170*mib, nil, true)
		step(165*mib, nil, true)
		step(1*mib, nil, false)
		step(0, errors.New("no such folder"), true)
	})
}

func TestADiskThatNobodyWatches(t *testing.T) {
	var d *node.Disk
	if _, ok := d.Free(); ok || d.Intake() != nil || d.Effects() != nil {
		t.Error("a disk that nobody watches holds something up")
	}
}

func TestDiskConfigIsChecked(t *testing.T) {
	if err := (node.DiskConfig{IntakeBytes: 1, EffectsBytes: 2}).Check(); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if err := (node.DiskConfig{IntakeBytes: 2, EffectsBytes: -1}).Check(); err != nil {
		t.Error(err)
	}
}

func TestTheSystemSaysWhatIsFree(t *testing.T) {
	free, total, err := node.DiskSpace(t.TempDir())
	if err != nil || total <= 0 || free < 0 || free > total {
		t.Errorf("got %d of %d, %v", free, total, err)
	}
}
