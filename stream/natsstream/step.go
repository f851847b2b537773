package natsstream

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

var _ stream.Stepped = (*Log)(nil)

// stepFile, in the folder of the embedded streams, has the step that they share with their
// board: see [stream.Stepped].
const stepFile = "step"

// Step is the step of the embedded streams.
func (l *Log) Step() (n int64, kept bool, err error) {
	if l.host == nil {
		return 0, false, nil
	}
	name := filepath.Join(l.cfg.folder(), stepFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, true, nil
	}
	if err == nil {
		n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	}
	if err != nil {
		return 0, true, domain.Unavailablef("read the step of the event streams: %v; where %s is damaged, remove it", err, name)
	}
	return n, true, nil
}

// SetStep writes down the step of the embedded streams.
func (l *Log) SetStep(n int64) error {
	if l.host == nil {
		return nil
	}
	if err := replace(filepath.Join(l.cfg.folder(), stepFile), strconv.AppendInt(nil, n, 10)); err != nil {
		return domain.Unavailablef("write the step of the event streams: %v", err)
	}
	return nil
}
