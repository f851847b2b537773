package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// This file lists and fetches the files that jobs have left.

// left are files of a job, or of a flow.
type left struct {
	list func(ctx context.Context, f api.ArtifactFilter) (api.ArtifactPage, error)
	read func(ctx context.Context, f *api.LeftArtifact, to io.Writer) error
	// place is where a file is put below the folder that they are fetched into.
	place func(f *api.LeftArtifact) string
}

func (a *app) leftByJob(n *client.Client, key domain.JobKey) left {
	job := api.JobParams{Context: a.tenant(), Caller: key.Caller, ID: key.ID}
	return left{
		list: func(ctx context.Context, f api.ArtifactFilter) (api.ArtifactPage, error) {
			return client.Call(ctx, n, api.JobArtifacts, api.JobArtifactsParams{JobParams: job, ArtifactFilter: f})
		},
		read: func(ctx context.Context, f *api.LeftArtifact, to io.Writer) error {
			return client.Receive(ctx, n, api.JobArtifact, api.JobArtifactParams{JobParams: job, File: f.Path}, to)
		},
		place: func(f *api.LeftArtifact) string { return f.Path },
	}
}

func (a *app) leftByFlow(n *client.Client, id domain.FlowID, step string) left {
	flow := api.FlowParams{Context: a.tenant(), Flow: id}
	return left{
		list: func(ctx context.Context, f api.ArtifactFilter) (api.ArtifactPage, error) {
			return client.Call(ctx, n, api.FlowArtifacts, api.FlowArtifactsParams{FlowParams: flow, Step: step, ArtifactFilter: f})
		},
		read: func(ctx context.Context, f *api.LeftArtifact, to io.Writer) error {
			return client.Receive(ctx, n, api.FlowArtifact, api.FlowArtifactParams{FlowParams: flow, Step: f.Step, Index: f.Index, File: f.Path}, to)
		},
		place: func(f *api.LeftArtifact) string {
			set := domain.ArtifactSet{Index: f.Index}
			return path.Join(set.Folder(f.Step), f.Path)
		},
	}
}

const leftLong = `. PATH is as a step names its files, with * and **; a folder is all that is in it.`

func (a *app) jobArtifacts() *cobra.Command {
	var output string
	list := a.onJobAnd("list KEY [PATH]", "List the files that a job has left", cobra.RangeArgs(1, 2),
		func(ctx context.Context, n *client.Client, key domain.JobKey, rest []string) error {
			return a.listLeft(ctx, a.leftByJob(n, key), last(rest, 0))
		})
	list.Long, list.Example = list.Short+leftLong, "  ramet job artifacts list 12:7"
	get := a.onJobAnd("get KEY [PATH]", "Fetch the files that a job has left", cobra.RangeArgs(1, 2),
		func(ctx context.Context, n *client.Client, key domain.JobKey, rest []string) error {
			return a.getLeft(ctx, a.leftByJob(n, key), last(rest, 0), output)
		})
	get.Long, get.Example = get.Short+leftLong, "  ramet job artifacts get 12:7 --output build\n  ramet job artifacts get 12:7 report.html --output - >report.html"
	outputFlag(get, &output)
	return noun("artifacts", "List and fetch the files that a job has left", list, get)
}

func (a *app) flowArtifacts() *cobra.Command {
	var output string
	list := a.onFlow("list", "List the files that a flow has left", func(ctx context.Context, n *client.Client, id domain.FlowID, rest []string) error {
		return a.listLeft(ctx, a.leftByFlow(n, id, last(rest, 0)), last(rest, 1))
	})
	list.Example = "  ramet flow artifacts list 31\n  ramet flow artifacts list 31 build 'dist/**'"
	get := a.onFlow("get", "Fetch the files that a flow has left", func(ctx context.Context, n *client.Client, id domain.FlowID, rest []string) error {
		return a.getLeft(ctx, a.leftByFlow(n, id, last(rest, 0)), last(rest, 1), output)
	})
	get.Example = "  ramet flow artifacts get 31 build --output build\n  ramet flow artifacts get 31 build report.html --output - >report.html"
	for _, c := range []*cobra.Command{list, get} {
		c.Use, c.Args = c.Use+" [STEP] [PATH]", cobra.RangeArgs(1, 3)
		c.Long = c.Short + leftLong
	}
	outputFlag(get, &output)
	return noun("artifacts", "List and fetch the files that a flow has left", list, get)
}

func outputFlag(c *cobra.Command, output *string) {
	c.Flags().StringVar(output, "output", ".", "the `folder` that they are put into, made where it is missing; - is standard output, for one file")
}

// last is the argument at a place, "" where it was left out.
func last(args []string, at int) string {
	if at < len(args) {
		return args[at]
	}
	return ""
}

// all calls do with every file that is meant.
func (l left) all(ctx context.Context, match string, do func(f *api.LeftArtifact) error) error {
	f := api.ArtifactFilter{Match: match}
	for {
		page, err := l.list(ctx, f)
		if err != nil {
			return err
		}
		for i := range page.Artifacts {
			if err := do(&page.Artifacts[i]); err != nil {
				return err
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return nil
		}
	}
}

func (a *app) listLeft(ctx context.Context, l left, match string) error {
	list := []api.LeftArtifact{}
	if err := l.all(ctx, match, func(f *api.LeftArtifact) error { list = append(list, *f); return nil }); err != nil {
		return err
	}
	return a.print(list, func(t *table) {
		t.row("FILE", "SIZE", "STEP", "INDEX", "JOB", "LEFT", "SHA-256")
		for _, f := range list {
			t.row(f.Path, size(uint64(f.Size)), f.Step, f.Index, f.Job, clock(f.AtMs), f.SHA256)
		}
	})
}

// fetched is what was fetched.
type fetched struct {
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	Folder string `json:"folder"`
}

func (a *app) getLeft(ctx context.Context, l left, match, output string) error {
	if output == stdStream {
		return a.showLeft(ctx, l, match)
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return fileError(err)
	}
	root, err := os.OpenRoot(output)
	if err != nil {
		return fileError(err)
	}
	defer root.Close()
	done := fetched{Folder: output}
	err = l.all(ctx, match, func(f *api.LeftArtifact) error {
		err := l.fetch(ctx, root, f)
		if err == nil {
			done.Files++
			done.Bytes += f.Size
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case done.Files == 0:
		return noneLeft(match)
	}
	return a.print(done, func(t *table) { t.row(done.Files, "files", size(uint64(done.Bytes)), "in", done.Folder) })
}

func noneLeft(match string) error {
	if match == "" {
		return domain.NotFoundf("no artifacts were left there")
	}
	return domain.NotFoundf("no artifact that %q names was left there; the command list shows all", match)
}

// fetch puts a file below a folder, never beside it, and only whole: a part has another
// name until then.
func (l left) fetch(ctx context.Context, root *os.Root, f *api.LeftArtifact) (err error) {
	place := l.place(f)
	if err := artifact.CheckPath(place); err != nil {
		return err // a node that says so is none of ours
	}
	name := filepath.FromSlash(place)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fileError(err)
	}
	part := name + ".part"
	mode := fs.FileMode(0o644)
	if f.Mode&0o100 != 0 {
		mode = 0o755
	}
	to, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return fileError(err)
	}
	defer func() {
		to.Close()
		if err != nil {
			root.Remove(part)
		}
	}()
	if err := l.verified(ctx, f, fileWriter{to}); err != nil {
		return err
	}
	if err := errors.Join(to.Close(), root.Rename(part, name)); err != nil {
		return fileError(err)
	}
	return nil
}

// fileWriter writes to a file that somebody named; its errors are of their kinds.
type fileWriter struct{ to io.Writer }

func (w fileWriter) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err != nil {
		err = fileError(err)
	}
	return n, err
}

// verified writes a file, and ends with an error where that is not the one that was left.
func (l left) verified(ctx context.Context, f *api.LeftArtifact, to io.Writer) error {
	h := sha256.New()
	if err := l.read(ctx, f, io.MultiWriter(to, h)); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		return domain.Unavailablef("%s did not come whole, or is not what was left: its SHA-256 is another", domain.PlainText(f.Path, domain.MaxArtifactPath))
	}
	return nil
}

// showLeft writes the one file that is meant to standard output.
func (a *app) showLeft(ctx context.Context, l left, match string) error {
	var list []api.LeftArtifact
	err := l.all(ctx, match, func(f *api.LeftArtifact) error {
		if list = append(list, *f); len(list) > 1 {
			return domain.Invalidf("--output -: several files are named so, want one; give its step and its path")
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return noneLeft(match)
	}
	return l.verified(ctx, &list[0], a.std.Out)
}
