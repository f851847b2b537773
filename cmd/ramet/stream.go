//go:build !no_nats

package main

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/address"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// openStream opens the event streams:
//
//	nats:?listen=127.0.0.1:4222&producer=7:U…                         a server in this process
//	nats://host:4222?key=<public key of a node>&replicas=1            that inside another node
//	nats://host:4222?login=link                                       with the node's link key
//	nats://host:4222,host:4222?creds=FILE                             a cluster elsewhere, three replicas
//	nats://host:4222?replicas=1&sync=always, tls://host:4222?…        one that has "sync_interval: always"
//	off                                                               none: nil
//
// known are the streams that the board's sagas have read: none of these is made.
// mayLose allows what is acknowledged to be lost in a power cut.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound], [domain.ErrConflict],
// [domain.ErrUnavailable].
func (p *parts) openStream(ctx context.Context, text, dataDir string, known []domain.StreamName, mayLose bool, log *slog.Logger) (stream.Log, error) {
	if text == "off" {
		return nil, nil
	}
	cfg, err := streamConfig(text)
	if err != nil {
		return nil, err
	}
	cfg.Known = known
	cfg.Logger, cfg.Node, cfg.Link, cfg.Nodes = log, p.keys.Node.Pubkey(), p.keys.Stream, p.ownStreamLink
	// Who says sync=always means it, whatever else may be lost.
	cfg.MayLose = mayLose && !cfg.SyncDeclared
	if cfg.URL == "" {
		p.ownStreams = true
		cfg.DataDir, cfg.SyncDeclared, cfg.AcceptLoss = dataDir, false, p.options.acceptLoss
		if err := p.streamsFormat(); err != nil {
			return nil, err
		}
	}
	l, err := natsstream.Open(ctx, cfg)
	if err != nil {
		return nil, err // not l: a nil *Log is no nil stream.Log
	}
	if lost := l.Lost(); len(lost) > 0 {
		cause := "files of the event streams were damaged: " + strings.Join(lost, "; ")
		if err := p.board.Commit(ctx, *new(board.Batch).NextEpochOf(domain.LossOfStreams, p.board.Now(), cause)); err != nil {
			_ = l.Close() // the first error says more
			return nil, err
		}
	}
	if at := l.Listening(); at != "" {
		log.Info("NATS server of the event streams listens", "address", at, "key", cfg.Node)
	}
	return l, nil
}

// ownStreamLink says whether a link key is that of a node of this board.
func (p *parts) ownStreamLink(link string) bool {
	return slices.ContainsFunc(p.ownLinks(), func(l identity.Links) bool { return l.Stream == link })
}

// streamConfig reads what is said of the streams. No error shows the URL of a
// server, for it may hold a password.
func streamConfig(text string) (cfg natsstream.Config, err error) {
	kind, rest, _ := strings.Cut(text, ":")
	if kind != "nats" && kind != "tls" || kind == "tls" && !strings.HasPrefix(rest, "//") {
		return cfg, domain.Invalidf("event streams of kind %q: want nats: (embedded), nats://host:4222, tls://host:4222 or off", domain.PlainText(kind, 20))
	}
	head, query, _ := strings.Cut(text, "?")
	external := strings.HasPrefix(rest, "//")
	if external {
		cfg.URL = head
	} else if head != "nats:" {
		return cfg, domain.Invalidf("event streams %q: want nats: with parameters such as ?listen=127.0.0.1:4222", domain.PlainText(domain.HideURL(head), 60))
	}
	q, err := address.ParseParameters(query, "producer")
	if err != nil {
		return cfg, domain.Invalidf("event streams: %v", err)
	}
	texts := map[string]*string{
		"listen": &cfg.Listen, "tls_cert": &cfg.TLSCert, "tls_key": &cfg.TLSKey, "token_file": &cfg.TokenFile,
	}
	known := "listen, producer, sync, tls_cert, tls_key, token_file"
	if external {
		texts = map[string]*string{
			"creds": &cfg.CredsFile, "nkey": &cfg.NkeyFile, "token_file": &cfg.TokenFile, "ca": &cfg.CA,
			"key": &cfg.KeyOf,
		}
		known = "ca, create, creds, key, login, nkey, replicas, sync, token_file"
	}
	for name, values := range q {
		value := values[0]
		switch to := texts[name]; {
		case to != nil:
			*to = value
		case name == "sync":
			if value != "always" {
				return cfg, domain.Invalidf("event streams have sync=%q: want always, or nothing", value)
			}
			cfg.SyncDeclared = true
		case name == "login" && external:
			if value != "link" {
				return cfg, domain.Invalidf("event streams have login=%q: want link, for the node's link key, or nothing", value)
			}
			cfg.Login = true
		case name == "producer" && !external:
			for _, text := range values {
				x, err := natsstream.ParseProducer(text)
				if err != nil {
					return cfg, err
				}
				cfg.Producers = append(cfg.Producers, x)
			}
		case name == "replicas" && external:
			if cfg.Replicas, err = strconv.Atoi(value); err != nil || cfg.Replicas != 1 && cfg.Replicas != 3 {
				return cfg, domain.Invalidf("event streams have replicas=%q: want 1 or 3", value)
			}
		case name == "create" && external:
			if value != "no" {
				return cfg, domain.Invalidf("event streams have create=%q: want no, or nothing", value)
			}
			cfg.NoCreate = true
		default:
			return cfg, domain.Invalidf("event streams have parameter %q; known are %s", domain.PlainText(name, 40), known)
		}
	}
	if cfg.KeyOf != "" {
		// That server is inside a node: it has one copy, and syncs as it was told.
		if err := domain.ValidatePubkey(cfg.KeyOf); err != nil {
			return cfg, domain.Invalidf("event streams have key=: %v; want the public key of the node that has the server", err)
		}
	}
	return cfg, nil
}
