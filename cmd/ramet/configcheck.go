package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/internal/setting"
	"github.com/ramet-run/ramet/node"
)

// This file finds what a node refuses when it opens its parts, without opening one.

// inspectConfig is what `ramet config show` shows: a file with environment and flags.
func inspectConfig(path string, variable func(name string) string, given []setting.Given) (*setting.Reading, error) {
	var c config
	return setting.Read(path, variable, given, &c, func() error { return c.check() })
}

// checkConfig looks also at what a node of this machine would refuse to open.
func checkConfig(path string, variable func(name string) string) error {
	var c config
	_, err := setting.Read(path, variable, nil, &c, func() error { return errors.Join(c.check(), c.checkDoors(), c.checkPlaces(), c.checkEffects()) })
	return err
}

// checkDoors looks at the node's name, and at what it listens on.
func (c config) checkDoors() error {
	var errs []error
	if c.Name != "" {
		if err := node.CheckName(c.Name); err != nil {
			errs = append(errs, fmt.Errorf("name: %w", err))
		}
	}
	errs = append(errs, cli.CheckAddress("listen", c.Listen))
	if c.RESP != "" {
		errs = append(errs, checkRESP(c.RESP))
	}
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		errs = append(errs, domain.Invalidf("tls_cert and tls_key: give both or none"))
	case c.TLSCert != "":
		if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
			errs = append(errs, fmt.Errorf("tls_cert: %w", err))
		}
	}
	return errors.Join(errs...)
}

// checkPlaces looks at the URLs of the node's parts, and at the files that have them.
func (c config) checkPlaces() error {
	var errs []error
	look := func(key, text string, check func(url string) error) string {
		url, err := readURL(key, text)
		if err == nil {
			err = check(url)
		}
		if err != nil && !strings.HasPrefix(err.Error(), key) {
			err = fmt.Errorf("%s: %w", key, err)
		}
		errs = append(errs, err)
		return url
	}
	board := look("board", c.Board, checkBoard)
	look("archive", c.Archive, func(url string) error {
		place, err := parseArchive(url, board, "")
		if err != nil || place.kind != "postgres" {
			return err
		}
		a, err := openPostgres(place.url) // it calls nothing yet
		if err == nil {
			err = a.Close()
		}
		return err
	})
	look("stream", c.Stream, func(url string) error {
		scheme, _, _ := strings.Cut(url, ":")
		switch scheme {
		case "", "off", "nats", "tls":
			return nil
		}
		return domain.Invalidf("want nats: (in the data folder), nats://host:4222, tls://host:4222 or off")
	})
	for _, text := range c.Buses {
		look("buses", text, checkBus)
	}
	return errors.Join(errs...)
}

// checkBoard looks at the URL of a board.
func checkBoard(url string) error {
	scheme, _, _ := strings.Cut(url, ":")
	switch scheme {
	case "", "pebble", "mem":
		return nil
	case "redis", "rediss", "valkey", "valkeys", "unix":
		return redisboard.CheckURL(url)
	case "etcd", "etcds":
		return checkEtcd(url)
	}
	return noBoard(url)
}

// checkEffects opens effects, secrets and egress rules, which calls nothing.
func (c config) checkEffects() error {
	var errs []error
	quiet := slog.New(slog.DiscardHandler)
	secrets, err := effect.NewSecrets(c.Secrets, quiet)
	if err != nil {
		errs = append(errs, fmt.Errorf("secrets: %w", err))
	}
	rules, err := egress.Parse(c.Egress)
	if err != nil {
		errs = append(errs, fmt.Errorf("egress: %w", err))
	}
	list := c.Effects
	if c.EffectsDir != "" {
		more, err := effect.ReadDefinitions(c.EffectsDir)
		if err != nil {
			errs = append(errs, fmt.Errorf("effects_dir: %w", err))
		}
		list = append(list[:len(list):len(list)], more...)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	kinds, host := effectKinds(&node.Node{}), effect.Host{Secrets: secrets, Dialer: effect.NewDialer(rules), Folders: c.EffectFolders}
	named := map[string]bool{}
	for _, d := range list {
		set, err := effect.OpenSet([]effect.Definition{d}, kinds, host)
		if err == nil {
			err = set.Close()
		}
		if err == nil && named[d.Name] {
			err = domain.Invalidf("effect %q is there twice", d.Name)
		}
		if named[d.Name] = true; err != nil {
			errs = append(errs, fmt.Errorf("effects: %w", err))
		}
	}
	return errors.Join(errs...)
}
