package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// folderEvery is how often a node looks whether its data folder is still its own.
const folderEvery = 2 * time.Second

// The board's and the streams' folders in it.
const (
	boardFolder   = "board"
	streamsFolder = "streams"
)

// belongings are files and folders as they were when the node had opened them.
type belongings []belonging

type belonging struct {
	path string
	is   fs.FileInfo
}

// look notes which files and folders there are under some paths.
func look(paths []string) (belongings, error) {
	var all belongings
	for _, path := range paths {
		is, err := os.Stat(path)
		if err != nil {
			return nil, domain.FileErrorf(err, "look at %q: %v", path, err)
		}
		all = append(all, belonging{path, is})
	}
	return all, nil
}

// inFolder are the data folder and what this node has in it.
func (p *parts) inFolder() []string {
	dir := p.options.dataDir
	paths := []string{dir}
	if p.kind == "embedded" {
		paths = append(paths, filepath.Join(dir, boardFolder))
	}
	if p.ownStreams {
		paths = append(paths, filepath.Join(dir, streamsFolder))
	}
	if p.archiveFile != "" {
		paths = append(paths, p.archiveFile)
	}
	return paths
}

// check looks whether all lie where they did.
//
// Errors: [domain.ErrUnavailable] naming what does not. Files that cannot be looked
// at are no error: whoever reads and writes them says more.
func (all belongings) check() error {
	for _, was := range all {
		is, err := os.Stat(was.path)
		if os.IsNotExist(err) || err == nil && !os.SameFile(was.is, is) {
			return domain.Unavailablef("%q was moved or deleted while the node ran: what is acknowledged from now on would be found by nobody; "+
				"start it with --data where the folder is now, or put back a copy of it", was.path)
		}
	}
	return nil
}

// keepFolder ends the node when its data folder is moved or deleted under it: the
// system lets it read and write on, but no later start would find that.
func (p *parts) keepFolder(ctx context.Context) error {
	every := time.NewTicker(folderEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
		if err := p.belongings.check(); err != nil {
			return err
		}
	}
}

// tempFolder makes a folder for a node that lives for one command, and removes those whose
// command was killed.
func tempFolder() (path string, remove func() error, err error) {
	const prefix = "ramet-run-"
	script.SweepTempFolders("", prefix)
	dir, err := script.NewTempFolder("", prefix)
	if err != nil {
		return "", nil, domain.Unavailablef("%v", err)
	}
	return dir.Path, dir.Remove, nil
}
