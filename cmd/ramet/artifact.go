package main

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/artifact/folderstore"
	"github.com/ramet-run/ramet/domain"
)

// artifactFolder is the embedded store of artifacts, in the data folder.
const artifactFolder = "artifacts"

// openArtifactStore opens the store of an URL; "" is the default: a folder beside an
// embedded board, none otherwise, for nodes that share a board need one store.
//
// Errors: [domain.ErrInvalid], [domain.ErrUnavailable].
func openArtifactStore(text, boardURL, dataDir string) (artifact.Store, error) {
	switch {
	case text == "none", text == "" && boardKind(boardURL) != "embedded":
		return nil, nil
	case text == "":
		return folder(filepath.Join(dataDir, artifactFolder))
	}
	wrong := domain.Invalidf("artifacts: want file:///PATH, s3://BUCKET/PREFIX?endpoint=HOST&region=NAME or none")
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, wrong
	case u.Scheme == "s3":
		return openS3(u)
	case u.Scheme != "file" || u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" || u.User != nil:
		return nil, wrong
	}
	return folder(filepath.Clean(u.Path))
}

func folder(dir string) (artifact.Store, error) {
	s, err := folderstore.Open(dir)
	if err != nil {
		return nil, err // not s: a nil *Store is no nil artifact.Store
	}
	return s, nil
}

// ownArtifacts reports whether files that jobs left lie in the data folder.
func (p *parts) ownArtifacts() bool {
	return p.options.artifactURL == "" && p.artifacts != nil
}

// openArtifacts opens the node's store of artifacts.
func (p *parts) openArtifacts(_ context.Context, o options) (err error) {
	p.artifacts, err = openArtifactStore(o.artifactURL, o.boardURL, o.dataDir)
	if err == nil && p.artifacts == nil && o.artifactURL == "" && o.serve {
		p.log.Info("jobs cannot leave artifacts here: nodes that share a board need one store; set artifacts in the config file of each")
	}
	return err
}

// pairArtifacts makes sure that it is that of the board's other nodes. One that is away is
// waited for by what needs it.
func (p *parts) pairArtifacts(ctx context.Context, o options) error {
	if p.artifacts == nil || o.artifactURL == "" || !o.serve {
		return nil
	}
	err := p.node.Work.PairArtifacts(ctx, o.acceptLoss)
	if errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrExhausted) {
		p.log.Warn("the store of artifacts is away; what needs it waits", "err", err)
		return nil
	}
	return err
}
