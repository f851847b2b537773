package main

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/script"
)

// This file lets the config file and the options of a command say the same.

// options are what serve and embedded have in common.
type options struct {
	dataDir, boardURL, configFile string
	archiveURL, artifactURL       string
	keyFile                       string
	listen, tlsCert, tlsKey       string
	urlFiles                      []string     // those that stood for URLs
	isolation                     script.Level // over that of the config file
	name                          string
	runnerID                      domain.RunnerID
	grace, lease                  time.Duration
	labels                        domain.Labels
	buses                         []string
	streamURL                     string
	mayLose, acceptLoss           bool
	circles                       []domain.ServedCircle
	circlesOnly                   bool
	resp                          string
	serve                         bool           // for long: with buses
	wait                          time.Duration  // for another process to leave the data folder
	run                           bool           // with a runner
	drain                         func()         // ends the node
	level                         *slog.LevelVar // of the log; nil: it stays as it is
	dev                           *development   // nil: it is for work
	log                           *slog.Logger
}

// settle reads the config file, and lets it and the options say the same.
func (o *options) settle() (config, error) {
	cfg, err := loadConfig(o.configFile)
	if err != nil {
		return cfg, err
	}
	cfg.Isolation = cmp.Or(o.isolation, cfg.Isolation)
	o.mayLose = o.mayLose || cfg.MayLose
	o.name, o.runnerID = cmp.Or(o.name, cfg.Name), cmp.Or(o.runnerID, cfg.RunnerID)
	if o.serve && o.dev == nil { // a node for development listens where its flags say: for this machine alone
		o.listen, o.tlsCert, o.tlsKey = cmp.Or(o.listen, cfg.Listen), cmp.Or(o.tlsCert, cfg.TLSCert), cmp.Or(o.tlsKey, cfg.TLSKey)
		if err := (cli.ServeOptions{Listen: o.listen, TLSCert: o.tlsCert, TLSKey: o.tlsKey, RESP: cmp.Or(o.resp, cfg.RESP)}).CheckListen(); err != nil {
			return cfg, err
		}
	}
	if err := cfg.Isolation.Validate(); err != nil {
		return cfg, err
	}
	// Absolute, because jobs work in folders below it.
	if o.dataDir, err = filepath.Abs(o.dataDir); err != nil {
		return cfg, err
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	return cfg, o.findURLs(cfg)
}
