package natsstream

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// This file keeps which messages of the embedded streams are known to be gone.

// goneFile, in the folder of the streams, has them: they were trimmed, or given up.
const goneFile = "gone.json"

// span is messages from one number to another.
type span struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

func (s span) String() string {
	if s.First == s.Last {
		return fmt.Sprint("message ", s.First)
	}
	return fmt.Sprintf("messages %d to %d", s.First, s.Last)
}

// gone is what is known to be gone, of each stream.
type gone map[domain.StreamName][]span

func readGone(folder string) (gone, error) {
	g := gone{}
	text, err := os.ReadFile(filepath.Join(folder, goneFile))
	if errors.Is(err, fs.ErrNotExist) {
		return g, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		return nil, domain.Unavailablef("read what the streams have lost before: %v; where %s is damaged, move it away: what it had is told of again then", err,
			filepath.Join(folder, goneFile))
	}
	return g, nil
}

// add writes down that messages are gone.
func (g gone) add(folder string, name domain.StreamName, more ...span) error {
	g[name] = joined(append(g[name], more...))
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return replace(filepath.Join(folder, goneFile), text)
}

// joined puts spans in order that touch or overlap into one.
func joined(list []span) (out []span) {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.First, b.First) })
	for _, s := range list {
		if n := len(out); n > 0 && s.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, s.Last)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// without is what is left of a span without those of a list in order.
func (s span) without(list []span) (out []span) {
	for _, g := range list {
		switch {
		case g.Last < s.First:
			continue
		case g.First > s.Last:
		case g.First > s.First:
			out = append(out, span{s.First, g.First - 1})
			fallthrough
		default:
			s.First = g.Last + 1
		}
		if s.First > s.Last {
			return out
		}
	}
	return append(out, s)
}

// replace writes a file that is there wholly or as it was before.
func replace(name string, text []byte) error {
	f, err := os.OpenFile(name+".part", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(name+".part", name)
	}
	if err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// trims writes down that messages are about to go, of which the files say nothing
// in the end.
func (h *host) trims(cfg Config, name domain.StreamName, upTo uint64) error {
	if h == nil {
		return nil
	}
	h.trimming.Lock()
	defer h.trimming.Unlock()
	known, err := readGone(cfg.folder())
	if err == nil {
		err = known.add(cfg.folder(), name, span{1, upTo})
	}
	return err
}
