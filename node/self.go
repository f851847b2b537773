package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/layout"
)

// SelfFile is where a node keeps who it is, in its data folder.
const SelfFile = "node.json"

// maxSelf bounds that file, in bytes.
const maxSelf = 4 << 10

// namePattern keeps names usable in keys, lease owners and token audiences.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// self is who a node is, over all its lives.
type self struct {
	// ID tells its data folder from all others: a name may be given twice.
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	RunnerID domain.RunnerID `json:"runner_id"`
	// Board is what it stood on last, for people.
	Board string `json:"board,omitzero"`
	// BoardID is that board's identity: another board may be found at the same place.
	BoardID string `json:"board_id,omitzero"`
}

// loadSelf reads who the node is, or decides it at the first start: the given
// name or the host's, and a runner id that nobody else on the board has. Where
// another node has the host's name, it chooses one of its own.
//
// Errors: [domain.ErrConflict] when another node has the given name, or the given
// id; [domain.ErrInvalid] for a name that cannot be one, or a damaged file.
func loadSelf(ctx context.Context, b board.Board, cfg Config) (self, error) {
	path, name, id := filepath.Join(cfg.DataDir, SelfFile), cfg.Name, cfg.RunnerID
	was, err := readSelf(path)
	if err != nil {
		return was, err
	}
	s, err := was.with(ctx, b, name, id)
	if err != nil {
		return s, err
	}
	if s.Board = cmp.Or(cfg.Board, was.Board); was.Board != "" && was.Board != s.Board {
		cfg.Logger.Warn("the node of this data folder stood on another board before: what waits there is for that board's nodes", "was", was.Board, "is", s.Board)
	}
	if s.BoardID, err = clockwork.Identity(ctx, b); err != nil {
		return s, err
	}
	err = s.takeName(ctx, b, b.Now())
	if errors.Is(err, domain.ErrConflict) && name == "" && was.Name == "" {
		s.Name += "-" + strings.ToLower(rand.Text()[:6])
		err = s.takeName(ctx, b, b.Now())
	}
	if err != nil {
		return s, err
	}
	err = s.ownsRunner(ctx, b, b.Now())
	if errors.Is(err, domain.ErrConflict) && id == 0 {
		// Its folder was copied: the other has the id.
		cfg.Logger.Warn("another node has this node's runner id: it takes a new one", "runner", uint32(s.RunnerID), "err", err)
		s.RunnerID, err = nextRunner(ctx, b)
	}
	if err != nil || s == was {
		return s, err
	}
	return s, writeSelf(path, s)
}

// KnowsBoard refuses a board at a place where the node of a data folder stood on another
// one: a server that was emptied would give out the same numbers again. Nothing is
// written.
//
// Errors: [domain.ErrUnavailable]; [domain.ErrInvalid] for a damaged file.
func KnowsBoard(ctx context.Context, b board.Board, dataDir, place string) error {
	was, err := readSelf(filepath.Join(dataDir, SelfFile))
	if err != nil || was.BoardID == "" || was.Board != place {
		return err
	}
	recs, err := b.Get(ctx, 0, layout.Identity)
	if err != nil || recs[0].Get(layout.IdentityID) == was.BoardID {
		return err
	}
	return domain.Unavailablef("the board that this node knew is gone from %s: it was emptied, or came back without its data; "+
		"restore its data, or start each node once with --accept-loss, to go on with the board that is there now", place)
}

// readSelf reads the file; the zero self where there is none yet.
func readSelf(path string) (s self, err error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, domain.Unavailablef("read the node's name: %v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSelf+1))
	if err != nil {
		return s, domain.Unavailablef("read the node's name: %v", err)
	}
	if err := intake.Read(text, &s, intake.Limits{Bytes: maxSelf}); err != nil {
		return s, domain.Invalidf("%s is damaged (%v); remove it to let the node choose a new name and runner id", path, err)
	}
	return s, nil
}

// Folder is what tells a data folder from all others; "" before the first start there.
//
// Errors: [domain.ErrUnavailable]; [domain.ErrInvalid] for a damaged file.
func Folder(dataDir string) (id string, err error) {
	s, err := readSelf(filepath.Join(dataDir, SelfFile))
	return s.ID, err
}

// CheckName refuses what is no name of a node.
//
// Errors: [domain.ErrInvalid].
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return domain.Invalidf("node name %q: want letters, digits, '.', '_' and '-', at most 64", domain.PlainText(name, 80))
	}
	return nil
}

// with fills in what was given or is missing.
func (s self) with(ctx context.Context, b board.Board, name string, id domain.RunnerID) (self, error) {
	s.ID = cmp.Or(s.ID, rand.Text())
	s.Name = cmp.Or(name, s.Name, hostName())
	s.RunnerID = cmp.Or(id, s.RunnerID)
	err := CheckName(s.Name)
	if err != nil {
		return s, err
	}
	if s.RunnerID == 0 {
		s.RunnerID, err = nextRunner(ctx, b)
	}
	return s, err
}

func nextRunner(ctx context.Context, b board.Board) (domain.RunnerID, error) {
	n, err := b.Next(ctx, 0, layout.Seq("runner", 0), 1)
	if err != nil {
		return 0, fmt.Errorf("choose a runner id: %w", err)
	}
	return domain.RunnerID(n), nil
}

// ownsRunner checks that no other node that lives has the runner's id: what both
// do would stand under one.
//
// Errors: [domain.ErrConflict].
func (s self) ownsRunner(ctx context.Context, b board.Board, now time.Time) error {
	key := layout.Runner(s.RunnerID)
	recs, err := b.Get(ctx, 0, key)
	if err != nil {
		return err
	}
	r, err := layout.DecodeRunner(key, recs[0])
	if err != nil || r.Node == "" || r.Node == s.Name {
		return nil // who writes the record says what is wrong with it
	}
	key = layout.Node(r.Node)
	if recs, err = b.Get(ctx, 0, key); err != nil {
		return err
	}
	other, err := layout.DecodeNode(key, recs[0])
	if age := now.Sub(time.UnixMilli(other.SeenMs)); err == nil && other.RunnerID == s.RunnerID && age < nameKept {
		return domain.Conflictf("node %s has runner id %d on this board and said %v ago that it is alive; give this one another --runner-id, or wait until that one "+
			"has been gone for %v", r.Node, s.RunnerID, age.Round(time.Second), nameKept)
	}
	return nil
}

// writeSelf writes the file whole or not at all.
func writeSelf(path string, s self) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	part := path + ".part"
	err = os.WriteFile(part, append(text, '\n'), 0o600)
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return domain.Unavailablef("write the node's name: %v", err)
	}
	return nil
}

const (
	// nameKept is how long a node that says nothing keeps its name from others.
	nameKept = domain.NodeSilence
	// nodeForgotten is how long the record of a node that is gone stays.
	nodeForgotten = 30 * 24 * time.Hour
)

// takeName makes the name the node's own on the board, and says that it is
// alive: a node that starts fences every earlier life under its name, so two
// that share one would take each other's jobs away.
//
// Errors: [domain.ErrConflict] while another node has the name.
func (s self) takeName(ctx context.Context, b board.Board, now time.Time) error {
	key := layout.Node(s.Name)
	recs, err := b.Get(ctx, 0, key)
	if err != nil {
		return err
	}
	holder := recs[0].Get(layout.NodeID)
	seen, _ := strconv.ParseInt(recs[0].Get(layout.NodeSeen), 10, 64)
	if age := now.Sub(time.UnixMilli(seen)); holder != "" && holder != s.ID && age < nameKept {
		return domain.Conflictf("another node has the name %q on this board and said %v ago that it is alive; give this one another name, or wait until that one "+
			"has been gone for %v",
			s.Name, age.Round(time.Second), nameKept)
	}
	return s.sign(ctx, b, holder, now.UnixMilli())
}

// stay says that the node is still there. Where the board has lost that it was, as one may
// that was started again, nobody has the name, and the node has it anew.
//
// Errors: [domain.ErrConflict] where another node has it.
func (s self) stay(ctx context.Context, b board.Board, now time.Time, more ...board.Field) error {
	err := s.sign(ctx, b, s.ID, now.UnixMilli(), more...)
	if !errors.Is(err, domain.ErrConflict) {
		return err
	}
	recs, lost := b.Get(ctx, 0, layout.Node(s.Name))
	if lost != nil || recs[0].Get(layout.NodeID) != "" {
		return err
	}
	return s.sign(ctx, b, "", now.UnixMilli(), more...)
}

// sign writes the node's record, with what more there is to say, if it still is
// holder's.
func (s self) sign(ctx context.Context, b board.Board, holder string, seenMs int64, more ...board.Field) error {
	key := layout.Node(s.Name)
	fields := append(more, board.Field{Name: layout.NodeID, Value: s.ID}, board.Field{Name: layout.NodeSeen, Value: strconv.FormatInt(seenMs, 10)})
	var batch board.Batch
	batch.Equal(key, layout.NodeID, holder).Set(key, fields...).Expire(key, nodeForgotten)
	err := b.Commit(ctx, batch)
	if errors.Is(err, domain.ErrConflict) {
		return domain.Conflictf("another node has taken the name %q on this board; give one of them another name", s.Name)
	}
	return err
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil || !namePattern.MatchString(name) {
		return "node"
	}
	return name
}
