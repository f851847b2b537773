package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/telemetry"
)

// leaveWait is how long a node that starts waits for a command that is a node on
// its folder for a moment.
const leaveWait = 5 * time.Second

// serve runs a node until ctx ends.
func serve(ctx context.Context, o cli.ServeOptions) error {
	if o.Logger != nil {
		o.Logger = slog.New(telemetry.Events(o.Logger.Handler()))
	}
	if o.Dev {
		return serveDev(ctx, o)
	}
	return serveOne(ctx, &o, nil)
}

// serveOne is one life of a node; dev is what it has beside where it is for development.
func serveOne(ctx context.Context, o *cli.ServeOptions, dev *development) error {
	told := ctx
	ctx, drain := context.WithCancel(ctx)
	defer drain()
	p, err := assemble(ctx, options{drain: drain, dataDir: o.DataDir, boardURL: o.BoardURL, archiveURL: o.ArchiveURL, configFile: o.ConfigFile,
		keyFile: o.KeyFile, listen: o.Listen, tlsCert: o.TLSCert, tlsKey: o.TLSKey,
		isolation: script.Level(o.Isolation), name: o.Name, level: o.LogLevel,
		runnerID: o.RunnerID, grace: o.Grace, lease: o.Lease, labels: o.Labels, buses: o.Buses, streamURL: o.Stream,
		mayLose: o.MayLose, acceptLoss: o.AcceptLoss, circles: o.Circles,
		circlesOnly: o.CirclesOnly, resp: o.RESP, serve: true, wait: leaveWait, run: !o.CirclesOnly, log: o.Logger, dev: dev})
	if told.Err() != nil && errors.Is(err, told.Err()) {
		return nil // it was told to end while it waited for its board, and does as a node that runs
	}
	if err != nil {
		return err
	}
	defer p.close()
	o.Listen, o.TLSCert, o.TLSKey = p.options.listen, p.options.tlsCert, p.options.tlsKey
	local, err := p.listenLocally(o.Socket, o.DataDir)
	if err != nil {
		return err
	}
	listeners, address := []net.Listener{local}, ""
	if o.Listen != "" && o.Listen != cli.ListenNone {
		tcp, err := http.ListenTCP(o.Listen, o.TLSCert, o.TLSKey)
		if err != nil {
			return errors.Join(err, local.Close())
		}
		listeners, address = append(listeners, tcp), tcp.Addr().String() // port 0 has become one
	}
	shown, err := p.listenForConsole(*o, &listeners)
	if err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	redis, err := p.openRESP(o.TLSCert, o.TLSKey)
	if err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	p.log.Info("node started", "node", p.node.Name(), "data", o.DataDir, "board", p.kind, "durability", string(p.board.Durability()), "archive", p.archived,
		"listen", address, "console", shown, "resp", redis, "pid", os.Getpid())
	if dev != nil {
		p.services = append(p.services, p.develop(*o))
		o.Listen, o.Opened = listeners[len(listeners)-1].Addr().String(), nil // as it is now, for its next life
	}
	err = p.run(ctx, listeners...)
	p.log.Info("node stopped", "node", p.node.Name())
	return err
}

// listenLocally listens on the local socket. The cookie is written when nobody
// answers there: a node that finds another one leaves that one's cookie alone.
// And it is there before the socket is, for who can connect reads it at once.
func (p *parts) listenLocally(socket, dataDir string) (net.Listener, error) {
	return http.ListenSocket(socket, p.log, func() error { return p.cookie.Save(dataDir) })
}

func closeAll(listeners []net.Listener) error {
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// embedded starts a node in this process for the time of a command.
func embedded(ctx context.Context, o cli.EmbeddedOptions) (cli.Embedded, error) {
	// Jobs of a command end with it: there is nobody to go on for.
	p, err := assemble(ctx, options{dataDir: o.DataDir, boardURL: o.BoardURL, archiveURL: o.ArchiveURL, configFile: o.ConfigFile,
		keyFile: o.KeyFile, isolation: script.Level(o.Isolation),
		grace: time.Millisecond, run: o.Run, log: o.Logger})
	if err != nil {
		return cli.Embedded{}, err
	}
	local, err := p.listenLocally(o.Socket, o.DataDir)
	if err != nil {
		p.close()
		return cli.Embedded{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		err := p.run(ctx, local)
		p.close() // first: the process ends as soon as the command has heard
		done <- err
	}()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	return cli.Embedded{Socket: o.Socket, Cookie: cli.CookiePath(o.DataDir), Runner: p.node.Runner(time.Now()), Stop: stop}, nil
}

// run runs the node with its door at every listener until ctx ends.
func (p *parts) run(ctx context.Context, listeners ...net.Listener) error {
	services := append([]node.Service{p.audit.Run, p.refreshPeers, p.giveBack, p.keepFolder}, p.services...)
	if p.options.serve {
		keeper := p.formatKeeper(p.node.Name())
		keeper.Newest = p.upgradeBelongings
		services = append(services, keeper.Run)
	}
	for _, l := range listeners {
		services = append(services, func(ctx context.Context) error { return p.door.Serve(ctx, l) })
	}
	return p.node.Run(ctx, services...)
}
