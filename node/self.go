package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// selfFile is where a node keeps who it is, in its data folder.
const selfFile = "node.json"

// namePattern keeps names usable in keys, lease owners and token audiences.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// self is who a node is, over all its lives.
type self struct {
	Name     string          `json:"name"`
	RunnerID domain.RunnerID `json:"runner_id"`
}

// loadSelf reads who the node is, or decides it at the first start: the given
// name or the host's, and a runner id that nobody else on the board has.
func loadSelf(ctx context.Context, b board.Board, dataDir, name string, id domain.RunnerID) (self, error) {
	var s self
	path := filepath.Join(dataDir, selfFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return s, domain.Unavailablef("read the node's name: %v", err)
	default:
		if err := json.Unmarshal(text, &s); err != nil {
			return s, domain.Invalidf("%s is damaged (%v); remove it to let the node choose a new name and runner id", path, err)
		}
	}
	was := s
	if name != "" {
		s.Name = name
	}
	if id != 0 {
		s.RunnerID = id
	}
	if s.Name == "" {
		s.Name = hostName()
	}
	if !namePattern.MatchString(s.Name) {
		return s, domain.Invalidf("node name %q: want letters, digits, '.', '_' and '-', at most 64", s.Name)
	}
	if s.RunnerID == 0 {
		n, err := b.Next(ctx, 0, layout.Seq("runner", 0), 1)
		if err != nil {
			return s, fmt.Errorf("choose a runner id: %w", err)
		}
		s.RunnerID = domain.RunnerID(n)
	}
	if s == was {
		return s, nil
	}
	return s, writeSelf(path, s)
}

func writeSelf(path string, s self) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return domain.Unavailablef("write the node's name: %v", err)
	}
	return nil
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil || !namePattern.MatchString(name) {
		return "node"
	}
	return name
}
