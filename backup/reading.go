package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file reads a backup, to check it or to restore it.

// Verify reads a backup to its end, and checks it.
//
// Errors: [domain.ErrInvalid] for one that is damaged, cut off, foreign or of a newer
// program.
func Verify(ctx context.Context, from io.Reader, progress func(items int64)) (Summary, error) {
	return read(ctx, from, progress, taker{})
}

// taker takes the parts of a backup; those that are nil are checked only.
type taker struct {
	head   func(Head) error
	file   func(file) error
	begin  func() error // before the first that is no file
	items  func([]item) error
	record func([]archive.Record) error
	names  func([]archive.Claimed) error
	stream func(name domain.StreamName, from io.Reader) error
	blob   func(b blob, from io.Reader) error
}

// read reads a backup, hands out its parts, and holds them against its end.
func read(ctx context.Context, from io.Reader, progress func(int64), take taker) (Summary, error) {
	r, err := NewReader(from)
	if err != nil {
		return Summary{}, err
	}
	g := &reading{Reader: r, take: take, told: progress, sum: newDigest(), spaces: map[board.Space]struct{}{}}
	defer func() { g.open.abandon() }()
	if g.Head, err = r.head(); err != nil {
		return g.Summary, err
	}
	if take.head != nil {
		if err := take.head(g.Head); err != nil {
			return g.Summary, err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return g.Summary, err
		}
		kind, payload, err := r.next()
		if err != nil {
			return g.Summary, err
		}
		if kind != 'c' {
			if err := g.open.end(); err != nil {
				return g.Summary, err
			}
			g.open, g.within = nil, ""
		}
		if kind != 'f' && take.begin != nil {
			if err := take.begin(); err != nil {
				return g.Summary, err
			}
			take.begin = nil
		}
		if kind == 'e' {
			return g.Summary, g.end(payload)
		}
		if err := g.block(kind, payload); err != nil {
			return g.Summary, err
		}
	}
}

// reading is a backup that is read: what it had until now.
type reading struct {
	*Reader
	Summary
	take   taker
	told   func(items int64) // nil: nobody asks how far it is
	sum    *digest
	spaces map[board.Space]struct{}
	open   *pasting // the stream or artifact that is read
}

// block hands out what a block has, by its kind.
func (g *reading) block(kind byte, payload []byte) error {
	switch kind {
	case 'f':
		return g.file(payload)
	case 'b':
		return g.items(payload)
	case 'a':
		return g.records(payload)
	case 'n':
		return g.names(payload)
	case 's':
		g.stream(domain.StreamName(payload))
		return nil
	case 'p':
		return g.artifact(payload)
	case 'c':
		if g.open == nil {
			return domain.Invalidf("the backup has a part of a stream or an artifact before that itself, before byte %d", g.at)
		}
		return g.open.write(payload)
	}
	return domain.Invalidf("the backup has a block of kind %q before byte %d, which this program does not know: a newer Ramet wrote it", kind, g.at)
}

func (g *reading) file(payload []byte) error {
	g.Files++
	var f file
	if err := g.decode(payload, &f); err != nil || g.take.file == nil {
		return err
	}
	return g.take.file(f)
}

func (g *reading) items(payload []byte) error {
	list, err := items(payload)
	if err != nil {
		return err
	}
	for _, it := range list {
		g.count(it)
		g.sum.add(it)
		g.spaces[it.space] = struct{}{}
	}
	if g.take.items != nil {
		err = g.take.items(list)
	}
	g.tell(g.Items())
	return err
}

func (g *reading) records(payload []byte) error {
	list, err := each[archive.Record](payload)
	if err != nil {
		return err
	}
	g.Archived += int64(len(list))
	for i := range list {
		g.spoilt(&list[i])
	}
	if g.take.record != nil {
		err = g.take.record(list)
	}
	g.tell(g.Items() + g.Archived)
	return err
}

func (g *reading) names(payload []byte) error {
	list, err := each[archive.Claimed](payload)
	if err != nil {
		return err
	}
	g.Names += int64(len(list))
	if g.take.names == nil {
		return nil
	}
	return g.take.names(list)
}

// stream begins one, whose parts are the blocks that follow.
func (g *reading) stream(name domain.StreamName) {
	g.Streams++
	g.open = begins(func(from io.Reader) error {
		if g.take.stream == nil {
			_, err := io.Copy(io.Discard, from)
			return err
		}
		return g.take.stream(name, from)
	})
}

func (g *reading) tell(done int64) {
	if g.told != nil {
		g.told(done)
	}
}

// end holds what was read against what the backup says that it has.
func (g *reading) end(payload []byte) error {
	var end Summary
	if err := g.decode(payload, &end); err != nil {
		return err
	}
	g.Spaces, g.Digest, g.Bytes, g.Skipped = len(g.spaces), g.sum.String(), end.Bytes, end.Skipped
	g.Missing = end.Missing
	end.Sealed = g.Sealed // earlier programs counted none
	if !reflect.DeepEqual(g.Summary, end) {
		return domain.Invalidf("the backup has not what its end says it has: %d items of the board and %d archived records, want %d and %d; "+
			"use another one", g.Items(), g.Archived, end.Items(), end.Archived)
	}
	return nil
}

// items takes a block of the board apart.
func items(payload []byte) (list []item, err error) {
	for r := (reader{buf: payload}); len(r.buf) > 0; {
		it, err := r.next()
		if err != nil {
			return nil, err
		}
		list = append(list, it)
	}
	return list, nil
}

// each reads lines of JSON.
func each[T any](payload []byte) (list []T, err error) {
	for d := json.NewDecoder(bytes.NewReader(payload)); ; {
		var v T
		if err := d.Decode(&v); err == io.EOF {
			return list, nil
		} else if err != nil {
			return nil, domain.Invalidf("the backup has a line that cannot be read: %v", err)
		}
		list = append(list, v)
	}
}

// pasting is a stream or an artifact of which parts come.
type pasting struct {
	to   *io.PipeWriter
	done chan error // what came of it; capacity 1
}

func begins(take func(from io.Reader) error) *pasting {
	from, to := io.Pipe()
	p := &pasting{to, make(chan error, 1)}
	go func() {
		err := take(from)
		_ = from.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		p.done <- err
	}()
	return p
}

func (p *pasting) write(chunk []byte) error {
	if _, err := p.to.Write(chunk); err != nil {
		return p.end()
	}
	return nil
}

func (p *pasting) end() error {
	if p == nil {
		return nil
	}
	_ = p.to.Close()
	err := <-p.done
	p.done <- nil // for whoever ends it again
	return err
}

// abandon lets go of a stream that did not come whole.
func (p *pasting) abandon() {
	if p != nil {
		_ = p.to.CloseWithError(domain.Unavailablef("the backup ended before the stream did"))
		<-p.done
	}
}
