package natsstream

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/domain"
)

// This file has the embedded server go on after a disk that was full. A stream
// that could not write takes nothing more, also when there is room again: its
// store has to be opened anew.

const (
	// reopenEvery is how often the disk is tried meanwhile.
	reopenEvery = time.Second
	// reopenRoom is what must fit on the disk: a block of a stream.
	reopenRoom = 8 << 20
)

// watchDisk opens the streams anew, after a write that failed, as soon as the disk
// takes something. Until then Check and Publish say why they do not.
func (l *Log) watchDisk() {
	for {
		select {
		case <-l.host.warned:
		case <-l.gone:
			return
		}
		err := l.host.broken()
		if err == nil {
			continue
		}
		l.latched.Store(&err)
		l.cfg.Logger.Error("the event streams cannot be written; they are opened again when they can", "folder", l.cfg.folder(), "err", err)
		if !l.reopen() {
			return
		}
		l.latched.Store(nil)
		l.cfg.Logger.Info("the event streams can be written again", "folder", l.cfg.folder())
	}
}

// reopen tries until the streams are there again, or the log is closed.
func (l *Log) reopen() bool {
	tick := time.NewTicker(reopenEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.gone:
			return false
		}
		err := tryDisk(l.cfg.folder())
		if err == nil {
			err = l.host.reopen()
		}
		if err == nil {
			return true
		}
		l.cfg.Logger.Debug("the event streams cannot be written yet", "err", err)
	}
}

// tryDisk writes a file and removes it.
func tryDisk(folder string) error {
	name := filepath.Join(folder, "room.part")
	defer os.Remove(name)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, reopenRoom))
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// reopen opens the store of the embedded server again. Connections stay.
func (h *host) reopen() error {
	if err := h.server.ShutdownJetStream(); err != nil {
		return err
	}
	o := h.opts
	err := h.server.EnableJetStream(&server.JetStreamConfig{StoreDir: o.StoreDir, SyncInterval: o.SyncInterval, SyncAlways: o.SyncAlways,
		MaxMemory: o.JetStreamMaxMemory, MaxStore: o.JetStreamMaxStore, Strict: !o.NoJetStreamStrict})
	if err != nil {
		return err
	}
	return h.broken()
}

// broken is why the server's streams take nothing more. What else ails it is not
// mended by opening them again.
func (h *host) broken() error {
	for _, e := range h.server.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if strings.Contains(e.Error, "write error") {
			return errors.New(e.Error)
		}
	}
	return nil
}

// unwritable is the error of what cannot be stored while the disk is full; nil
// while it can. Publishers and readers of a context get to see it: where the folder lies is
// for the log.
func (l *Log) unwritable() error {
	if err := l.latched.Load(); err != nil {
		return domain.Unavailablef("the event streams cannot be written: %s; make room for the node's folder streams: they go on by themselves then",
			l.cfg.unplaced((*err).Error()))
	}
	return nil
}

// unplaced is a text in which the streams' folder is called that, wherever it lies.
func (c Config) unplaced(text string) string {
	if whole, err := filepath.Abs(c.folder()); err == nil {
		text = strings.ReplaceAll(text, whole, "streams")
	}
	return strings.ReplaceAll(text, c.folder(), "streams")
}
