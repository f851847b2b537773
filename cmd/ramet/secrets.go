package main

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/effect"
)

// secretFiles are the files and folders, beside the data folder, that a node is
// configured by and no script may read: what holds a secret, or says where one is.
func (o options) secretFiles(c config) []string {
	files := append(slices.Clone(o.urlFiles), o.configFile, o.keyFile, o.tlsKey, c.MetricsTokenFile, c.EffectsDir)
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
