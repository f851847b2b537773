package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/client/failover"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

const (
	// tokenTTL is how long a token of the command line lives; it is made anew
	// at half of that.
	tokenTTL = 10 * time.Minute
	// startWait is how long a command waits for a node that may be starting:
	// `ramet serve &`, and at once the command. So long is a data folder waited for
	// that another command has open, too.
	startWait  = 10 * time.Second
	startPause = 50 * time.Millisecond
	// startQuiet is how long it says nothing of that.
	startQuiet = time.Second
)

// link is a node that answers, and how to let go of it.
type link struct {
	*client.Client
	close func() error
	// own is set where the node lives in this process only for this command;
	// runner is what runs jobs there.
	own    bool
	runner domain.Runner
}

// with calls do with a client of the node that the flags name.
func (a *app) with(ctx context.Context, do func(c *client.Client) error) error {
	l, err := a.reach(ctx, false)
	if err != nil {
		return err
	}
	a.ahead = sync.OnceValue(func() time.Duration {
		info, err := l.Client.Info(ctx)
		if err != nil || info.BoardMs == 0 { // of before nodes said it to everybody
			return 0
		}
		return time.Until(time.UnixMilli(info.BoardMs))
	})
	return errors.Join(do(l.Client), l.close())
}

// boardNow is the time of the board of the node that was reached: by that of this machine, which need not agree, nothing is late.
func (a *app) boardNow() time.Time {
	if a.ahead == nil {
		return time.Now()
	}
	return time.Now().Add(a.ahead())
}

// reach finds the node that the flags name, and there the context. Where none
// listens and run or --embed says so it starts one on the data folder, with a runner
// for run.
func (a *app) reach(ctx context.Context, run bool) (*link, error) {
	l, err := a.reachNode(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := a.findHome(ctx, l); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// reachNow is reach for what a node that is there may add to: it starts none, and waits for none that is starting.
//
// Errors: [domain.ErrUnavailable].
func (a *app) reachNow(ctx context.Context) (*link, error) {
	if a.node == "" {
		listening, err := listens(ctx, SocketPath(a.data))
		if err != nil {
			return nil, err
		}
		if !listening {
			return nil, domain.Unavailablef("no node listens on the data folder %s", a.data)
		}
	}
	return a.reach(ctx, false)
}

func (a *app) reachNode(ctx context.Context, run bool) (*link, error) {
	if a.node != "" {
		c, err := a.dialNodes(ctx)
		if err != nil {
			return nil, err
		}
		return &link{Client: c, close: func() error { c.Close(); return nil }}, nil
	}
	began, told := time.Now(), false
	for {
		l, err := a.reachData(ctx, run)
		// It may be starting, or another command be just opening or leaving the folder.
		away := errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrConflict)
		if err == nil || !away || time.Since(began) >= a.startWait {
			return l, err
		}
		if !told && time.Since(began) >= startQuiet {
			told = true
			a.complain(fmt.Sprintf("%v; waiting %v for one that is starting", err, a.startWait))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(startPause):
		}
	}
}

func (a *app) reachData(ctx context.Context, run bool) (*link, error) {
	socket := SocketPath(a.data)
	listening, err := listens(ctx, socket)
	if err != nil {
		return nil, err
	}
	switch {
	case !listening && a.checks:
		return a.throwAway(ctx, false)
	case !listening && (run || a.embed):
		return a.become(ctx, EmbeddedOptions{DataDir: a.data, Run: run})
	case !listening:
		return nil, domain.Unavailablef("no node listens on the data folder %s: start one with `ramet serve`, name another folder with --data or "+
			"a node with --node, or let the command be a node itself with --embed", a.data)
	}
	c, err := a.dial(ctx, client.Config{Socket: socket, Cookie: CookiePath(a.data)}, "")
	if err != nil {
		return nil, err
	}
	return &link{Client: c, close: func() error { c.Close(); return nil }}, nil
}

// become starts a node in this process. It outlives ctx until closed, so that
// an interrupted command can still put things in order.
func (a *app) become(ctx context.Context, o EmbeddedOptions) (*link, error) {
	if a.hooks.Embedded == nil {
		return nil, domain.Unavailablef("no node listens on %s; start one with `ramet serve`", o.DataDir)
	}
	o.Socket, o.BoardURL, o.ConfigFile = SocketPath(o.DataDir), a.board, a.config
	o.ArchiveURL, o.KeyFile, o.Isolation = cmp.Or(o.ArchiveURL, a.archive), a.key, a.isolation
	// Errors only: which script types are not served here is no news to
	// somebody who lists jobs.
	o.Logger = slog.New(slog.NewTextHandler(a.std.Err, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := makeDirs(o.DataDir, o.Socket); err != nil {
		return nil, err
	}
	node, err := a.hooks.Embedded(context.WithoutCancel(ctx), o)
	if err != nil {
		return nil, err
	}
	c, err := a.dial(ctx, client.Config{Socket: node.Socket, Cookie: node.Cookie}, "")
	if err != nil {
		return nil, errors.Join(err, node.Stop())
	}
	a.idle = !o.Run
	return &link{Client: c, own: true, runner: node.Runner, close: func() error { c.Close(); return node.Stop() }}, nil
}

// noteIdle tells who is about to wait that this command's own node runs nothing.
// On a shared board others may.
func (a *app) noteIdle() {
	if a.idle {
		a.complain("note: with --embed the command is a node that runs no jobs; what waits goes on when a node serves the same board")
	}
}

// makeDirs makes the folders of a node's data and of its socket.
func makeDirs(data, socket string) error {
	if err := os.MkdirAll(data, 0o700); errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) {
		return domain.Unavailablef("make the data folder: %v", err)
	} else if err != nil {
		return domain.FileErrorf(err, "make the data folder: %v; choose another with --data", err)
	}
	if filepath.Base(socket) == socketFile {
		return nil // it lies in data
	}
	return makeSocketDir(socket)
}

// listens reports whether a node answers on a socket. Where the socket lies
// outside of the data folder, its folder must be ours.
func listens(ctx context.Context, socket string) (bool, error) {
	if filepath.Base(socket) != socketFile {
		if _, err := os.Lstat(filepath.Dir(socket)); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err := ownDir(filepath.Dir(socket)); err != nil {
			return false, err
		}
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", socket)
	switch {
	case err == nil:
		return true, conn.Close()
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, domain.Invalidf("data folder: %s is not in a folder; choose another with --data", socket)
	case errors.Is(err, fs.ErrPermission):
		if data := filepath.Dir(socket); filepath.Base(socket) == socketFile && ownDir(data) == nil {
			return false, domain.Forbiddenf("%s cannot be reached: %s is yours, but its mode keeps you out; `chmod u+rwx %s`, or start the node, "+
				"which mends it", socket, data, data)
		}
		return false, domain.Forbiddenf("%s belongs to another user; name a node with --node and --key", socket)
	}
	return false, domain.Unavailablef("%v", err)
}

// dialNodes makes a client of the node that --node names, or of several of one board: then where one does not answer
// the next is asked.
func (a *app) dialNodes(ctx context.Context) (*client.Client, error) {
	list := failover.Addresses(a.node)
	if len(list) == 1 {
		return a.dial(ctx, client.Config{URL: list[0].URL}, list[0].Name)
	}
	if err := a.checkKey(); err != nil {
		return nil, err
	}
	nodes := make([]failover.Node, len(list))
	for i, n := range list {
		nodes[i] = failover.Node{URL: n.URL, Token: a.tokenAfterLook(n)}
	}
	cfg, err := failover.Config(nodes...)
	if err != nil {
		return nil, err
	}
	c, err := client.New(ofCommand(cfg))
	if err != nil {
		return nil, err
	}
	if _, err := c.Info(ctx); err != nil { // which finds one that answers, also for what may not be asked twice
		c.Close()
		return nil, err
	}
	return c, nil
}

// lookTime bounds the look at who one of several nodes is.
const lookTime = 10 * time.Second

// tokenAfterLook gives tokens for one of several nodes, once that has been recognised: see recognise.
func (a *app) tokenAfterLook(n failover.Address) func(context.Context) (string, error) {
	t := &tokens{sign: a.hooks.Token, key: a.key, audience: n.Name}
	var known atomic.Bool
	return func(ctx context.Context) (string, error) {
		if (a.key != "" || n.Name != "") && !known.Load() {
			ctx, cancel := context.WithTimeout(ctx, lookTime)
			defer cancel()
			bare, err := client.New(client.Config{URL: n.URL})
			if err != nil {
				return "", err
			}
			defer bare.Close()
			info, err := bare.Info(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				return "", domain.Unavailablef("%s takes requests, and has not said who it is for %v", n.URL, lookTime)
			}
			if err == nil {
				err = a.recognise(n.URL, n.Name, info.Name)
			}
			if err != nil {
				return "", err
			}
			known.Store(true)
		}
		if a.key == "" {
			return "", nil
		}
		return t.token(ctx)
	}
}

// ofCommand is what all clients of commands have. What a script does by commands belongs to its job's trace. What creates has
// a key of its own, fresh for each request: sent again to the next node it makes nothing twice, and a command that is typed
// twice is two.
func ofCommand(cfg client.Config) client.Config {
	cfg.TraceParent, cfg.Keyed = os.Getenv("TRACEPARENT"), true
	return cfg
}

// dial makes a client, with tokens where there is a key. What answers must be
// the node called name; "" trusts what answers, as is right on one's own socket.
func (a *app) dial(ctx context.Context, cfg client.Config, name string) (*client.Client, error) {
	cfg = ofCommand(cfg)
	if a.key == "" && name == "" {
		return client.New(cfg)
	}
	if err := a.checkKey(); err != nil {
		return nil, err
	}
	unproven := cfg
	unproven.Token = func(context.Context) (string, error) { return "", nil }
	bare, err := client.New(unproven)
	if err != nil {
		return nil, err
	}
	info, err := bare.Info(ctx)
	if err == nil && cfg.URL != "" {
		err = a.recognise(cfg.URL, name, info.Name)
	}
	if err != nil || a.key == "" {
		return bare, err
	}
	bare.Close()
	t := &tokens{sign: a.hooks.Token, key: a.key, audience: info.Name}
	cfg.Token = t.token
	return client.New(cfg)
}

// checkKey looks at --key before anything is asked.
//
// Errors: [domain.ErrInvalid]; those of [domain.FileErrorf].
func (a *app) checkKey() error {
	if a.key == "" {
		return nil
	}
	if a.hooks.Token == nil {
		return domain.Invalidf("--key: this program cannot make tokens")
	}
	if _, err := os.Stat(a.key); errors.Is(err, fs.ErrNotExist) {
		return domain.NotFoundf("key file %q does not exist; make one with `ramet actor new`", a.key)
	} else if err != nil {
		return fileError(err)
	}
	return nil
}

// recognise holds a node elsewhere to the name it is expected to have. A token
// is good at the node whose name is in it, for whoever has the token: if it
// were made for whatever name the other side says, that side could ask for one
// that is good somewhere else.
//
// Errors: [domain.ErrInvalid] where no name is expected, [domain.ErrForbidden].
func (a *app) recognise(url, name, says string) error {
	switch name {
	case says:
		return nil
	case "":
		return domain.Invalidf("--key: which node is meant? %s says that it is %.64q; if that is right, write --node '%s#%.64s'", url, says, url, visible(says))
	}
	return domain.Forbiddenf("%s is the node %.64q, not %q: if that is right, change what stands behind the # of --node", url, says, name)
}

// tokens makes tokens from a key for one node.
type tokens struct {
	sign     func(keyFile, audience string, ttl time.Duration, claims identity.Claims) (string, error)
	key      string
	audience string

	mu      sync.Mutex
	last    string
	renewAt time.Time
}

func (t *tokens) token(context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Now().Before(t.renewAt) {
		return t.last, nil
	}
	made, err := t.sign(t.key, t.audience, tokenTTL, identity.Claims{})
	if err != nil {
		return "", err
	}
	t.last, t.renewAt = made, time.Now().Add(tokenTTL/2)
	return made, nil
}
