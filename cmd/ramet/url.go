package main

import (
	"cmp"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file finds the URLs of a node's parts. They may hold passwords, so none
// of them has to be on a command line.

// maxURLFile bounds a file that holds a URL, in bytes.
const maxURLFile = 64 << 10

// findURLs completes the options by what the config file says, and reads the
// files that stand for URLs.
//
// Errors: those of readURL.
func (o *options) findURLs(cfg config) (err error) {
	o.artifactURL = cfg.Artifacts
	o.boardURL, o.archiveURL, o.streamURL = cmp.Or(o.boardURL, cfg.Board), cmp.Or(o.archiveURL, cfg.Archive), cmp.Or(o.streamURL, cfg.Stream)
	if len(o.buses) == 0 {
		o.buses = cfg.Buses
	}
	for _, text := range slices.Concat([]string{o.boardURL, o.archiveURL, o.artifactURL, o.streamURL}, o.buses) {
		if file, found := strings.CutPrefix(text, "@"); found {
			o.urlFiles = append(o.urlFiles, file)
		}
	}
	for what, url := range map[string]*string{"board": &o.boardURL, "archive": &o.archiveURL, "artifacts": &o.artifactURL, "stream": &o.streamURL} {
		if *url, err = readURL(what, *url); err != nil {
			return err
		}
	}
	buses := make([]string, len(o.buses))
	for i, text := range o.buses {
		if buses[i], err = readURL("bus", text); err != nil {
			return err
		}
	}
	o.buses = buses
	if cfg.hasSecret() && openToAll(o.configFile) {
		o.log.Warn("the config file has a URL with a login and can be read by every user of this machine; chmod 600 it", "file", o.configFile)
	}
	return nil
}

// hasSecret reports whether a URL of the config file itself may hold a password.
func (c config) hasSecret() bool {
	return slices.ContainsFunc(append([]string{c.Board, c.Archive, c.Stream}, c.Buses...), domain.HasSecret)
}

// openToAll reports whether every user of the machine may read a file.
func openToAll(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o004 != 0
}

// readURL is text, or for @FILE the URL in the file: its only line.
//
// Errors: those of [domain.FileErrorf]; [domain.ErrInvalid] for another content,
// [domain.ErrForbidden] for a file that everybody may read.
func readURL(what, text string) (string, error) {
	path, inFile := strings.CutPrefix(text, "@")
	if !inFile {
		return text, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", domain.FileErrorf(err, "%s: %v", what, err)
	}
	defer f.Close()
	if openToAll(path) {
		return "", domain.Forbiddenf("%s: the file %s is open to all users of the machine: chmod 600 %s", what, path, path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxURLFile+1))
	if err != nil {
		return "", domain.FileErrorf(err, "%s: %v", what, err)
	}
	url := strings.TrimSpace(string(raw))
	if url == "" || len(raw) > maxURLFile || strings.ContainsAny(url, "\n\r") || strings.HasPrefix(url, "@") {
		return "", domain.Invalidf("%s: the file %s: want a URL, and nothing else", what, path)
	}
	return url, nil
}
