package main

import (
	"cmp"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/secret"
)

// contextSecretsConfig says where secrets of contexts come from, besides the node's environment.
type contextSecretsConfig struct {
	Key     string   `yaml:"key"`
	Dir     string   `yaml:"dir"`
	Command []string `yaml:"command"`
}

// check refuses what no secret could come from. Errors begin with the key.
func (c config) checkContextSecrets() error {
	own := c.ContextSecrets
	if _, known := c.Secrets[own.Key]; own.Key != "" && !known {
		text := ""
		if near := domain.Nearest(own.Key, slices.Collect(maps.Keys(c.Secrets))); near != "" {
			text = "; did you mean " + near + "?"
		}
		return domain.Invalidf("context_secrets.key: there is no %q under secrets%s", own.Key, text)
	}
	if own.Dir != "" && !filepath.IsAbs(own.Dir) {
		return domain.Invalidf("context_secrets.dir: %q: want an absolute path", own.Dir)
	}
	if len(own.Command) > 0 && own.Command[0] == "" {
		return domain.Invalidf("context_secrets.command: want [PROGRAM, ARGUMENT, ...]")
	}
	return nil
}

// openVault opens the secrets of contexts. A board that this node has for itself has a key
// in the data folder, which opens what it sealed on another board, too.
func (p *parts) openVault(o options, cfg config) {
	c := secret.Config{Dir: cfg.ContextSecrets.Dir, Command: cfg.ContextSecrets.Command, Key: cfg.ContextSecrets.Key, Keys: p.sagas.secrets, Logger: o.log}
	c.KeyFile = filepath.Join(o.dataDir, secret.KeyFile)
	kind := boardKind(o.boardURL)
	c.Shared = kind != "embedded" && kind != "memory"
	p.vault = secret.New(precondition.Over(p.board), c)
}

// secretFiles are the files and folders, beside the data folder, that a node is
// configured by and no script may read: what holds a secret, or says where one is.
func (o options) secretFiles(c config) []string {
	files := append(slices.Clone(o.urlFiles), o.configFile, o.keyFile, o.tlsKey, c.MetricsTokenFile, c.EffectsDir, c.ContextSecrets.Dir)
	for _, source := range c.Secrets {
		files = append(files, source.File)
	}
	for _, text := range slices.Concat([]string{o.boardURL, o.archiveURL, o.streamURL}, o.buses) {
		files = append(files, filesOfURL(text)...)
	}
	definitions := slices.Clone(c.Effects)
	if c.EffectsDir != "" {
		more, _ := effect.ReadDefinitions(c.EffectsDir) // who opens them says what is wrong
		definitions = append(definitions, more...)
	}
	for _, d := range definitions {
		if tls, ok := d.Options["tls"].(map[string]any); ok {
			key, _ := tls["key"].(string)
			files = append(files, key)
		}
	}
	files = slices.DeleteFunc(files, func(path string) bool { return path == "" })
	for i, path := range files {
		if real, err := filepath.Abs(path); err == nil {
			files[i] = real
		}
	}
	return files
}

// secretParameters are those of URLs that name files with secrets. Certificates
// are none: those of authorities are often the machine's own, which scripts need.
var secretParameters = []string{"creds", "nkey", "token_file", "tls_key", "sslkey", "passfile", "servicefile"}

// filesOfURL are the files with secrets that a URL of a node's part leads to.
func filesOfURL(text string) (files []string) {
	head, query, _ := strings.Cut(text, "?")
	scheme, path, _ := strings.Cut(head, ":")
	parameters := secretParameters
	switch scheme {
	case "sqlite": // the archive itself
		if path = strings.TrimPrefix(path, "//"); filepath.IsAbs(path) { // else it lies in the data folder
			files = append(files, path, path+"-wal", path+"-shm", path+"-journal")
		}
	case "postgres", "postgresql": // where its passwords are looked for, too
		home, _ := os.UserHomeDir()
		files = append(files, cmp.Or(os.Getenv("PGPASSFILE"), filepath.Join(home, ".pgpass")), os.Getenv("PGSSLKEY"),
			filepath.Join(home, ".postgresql", "postgresql.key"))
	case "etcd", "etcds":
		parameters = append(slices.Clone(parameters), "key") // in one of NATS it is a public key
	}
	values, _ := url.ParseQuery(query) // who opens it says what is wrong
	for _, name := range parameters {
		files = append(files, values[name]...)
	}
	return files
}
