package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// This file has --watch, which every command has that shows how things stand: it does the
// command again and again. On a terminal the answers are drawn over each other, elsewhere
// one is written whenever it is another than the one before.

const (
	// watchEvery is how often a command is done again where nothing else is said,
	// watchLeast how often at the most.
	watchEvery = 2 * time.Second
	watchLeast = 100 * time.Millisecond
)

// standings are the names of commands that show how things stand.
var standings = []string{"list", "show", "explain", "lag", "instances", "info", "inbox"}

// watchable gives those of the commands under root the flag.
func (a *app) watchable(root *cobra.Command) {
	for _, c := range root.Commands() {
		a.watchable(c)
		if once := c.RunE; slices.Contains(standings, c.Name()) && once != nil {
			every := time.Duration(0)
			c.Flags().DurationVar(&every, "watch", 0, "show it anew, every two seconds or `how often` is said, until Ctrl-C")
			c.Flags().Lookup("watch").NoOptDefVal = watchEvery.String()
			c.RunE = func(c *cobra.Command, args []string) error {
				if !c.Flags().Changed("watch") {
					return once(c, args)
				}
				if every < watchLeast {
					return domain.Invalidf("--watch %v: want %v or more", every, watchLeast)
				}
				was := c.Context()
				return a.whileRead(was, func(ctx context.Context) error {
					c.SetContext(ctx)
					defer c.SetContext(was)
					return a.again(c, every, func() error { return once(c, args) })
				})
			}
		}
	}
}

// again does a command until its context ends.
//
// Errors: those of the first time, and later ones but for a node that is away; what cannot be shown.
func (a *app) again(c *cobra.Command, every time.Duration, once func() error) error {
	std := a.std
	defer func() { a.std = std }()
	out := newFrame(std.Out)
	defer out.close()
	last := ""
	for n := 0; ; n++ {
		var text, said bytes.Buffer
		a.std.Out, a.std.Err = page{to: &text}, page{to: &said}
		err := once()
		a.std = std
		ended := c.Context().Err() != nil
		switch {
		case ended && n > 0:
			return nil
		case err != nil && (n == 0 || !passes(err)):
			io.WriteString(std.Err, said.String())
			return err
		case err != nil:
			fmt.Fprintf(&said, "%s: %v; it is tried again\n", clock(time.Now().UnixMilli()), err)
		default:
			last = text.String()
		}
		shown := out.show(fmt.Sprintf("every %v: %s   %s", every, strings.TrimPrefix(c.CommandPath(), "ramet "), clock(time.Now().UnixMilli())), last, said.String())
		if shown != nil {
			return shown
		}
		if !sleep(c.Context(), every) {
			return nil
		}
	}
}

// passes reports whether an error is one of a node that is away for a moment.
func passes(err error) bool {
	answered := (*client.Error)(nil)
	return errors.Is(err, domain.ErrUnavailable) || errors.As(err, &answered) && answered.Problem.Status >= 500
}

// sleep waits; false is that ctx has ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const (
	// ownScreen and backScreen go to a screen of one's own, and back to what was there.
	ownScreen, backScreen = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	// fromTop draws from the first line on.
	fromTop = "\x1b[H"
)

// frame shows a text in place of the one before.
type frame struct {
	w     io.Writer
	fd    int  // of the terminal; -1: none
	ascii bool // as of a page
	last  string
	any   bool // something was shown
}

func newFrame(w io.Writer) *frame {
	f := &frame{w: w, fd: -1}
	if fd, ok := terminal(w); ok {
		f.fd, f.w = fd, bare(w)
	}
	if p, ok := w.(page); ok {
		f.ascii = p.ascii
	}
	return f
}

// live reports whether it is a terminal.
func (f *frame) live() bool { return f.fd >= 0 }

// size is that of the terminal.
func (f *frame) size() (width, height int) { return (&screen{fd: f.fd}).size() }

// show shows a text, and below it what was said beside. The head is for terminals: elsewhere
// a text is written only if it is another one.
func (f *frame) show(head, text, said string) error {
	if !f.live() {
		if f.any && text+said == f.last {
			return nil
		}
		between := ""
		if f.any {
			between = "\n"
		}
		f.any, f.last = true, text+said
		_, err := io.WriteString(f.w, between+text+said)
		return err
	}
	f.draw(append([]string{head, ""}, strings.Split(strings.TrimRight(text+said, "\n"), "\n")...))
	f.last = text
	return nil
}

// draw draws lines on a terminal.
func (f *frame) draw(lines []string) {
	begin := ""
	if !f.any {
		f.any, begin = true, ownScreen
	}
	width, height := f.size()
	// A terminal that hands over each key as it is typed does not go back to column 0 by itself.
	block := strings.ReplaceAll(statusBlock(lines, width, height), "\n", "\r\n")
	if f.ascii { // the stream is bare: the frame draws
		block = strings.Map(asASCII, block)
	}
	io.WriteString(f.w, begin+fromTop+block+"\x1b[J")
}

// close leaves the terminal as it was, with what was shown last.
func (f *frame) close() {
	if f.live() && f.any {
		io.WriteString(f.w, backScreen)
		io.WriteString(page{f.w, f.ascii}, f.last)
	}
}
