package sqleffect

import (
	"cmp"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// Options are what an operator says of an effect of kind sql beside what all
// effects have.
type Options struct {
	// Driver is postgres, mysql (MariaDB too) or sqlite.
	Driver string `yaml:"driver"`

	// Address is host or host:port, or unix:PATH of a socket. Default ports:
	// 5432, 3306.
	Address  string      `yaml:"address"`
	Database string      `yaml:"database"`
	User     string      `yaml:"user"`
	Password effect.Text `yaml:"password"`
	// Security is tls (the default, but for sockets) or none.
	Security string     `yaml:"security"`
	TLS      effect.TLS `yaml:"tls"`
	// File is the database of SQLite, in one of the node's folders for that. It
	// has to be there.
	File string `yaml:"file"`
	// Session are settings of each connection, as {search_path: shop}; of
	// SQLite pragmas.
	Session map[string]string `yaml:"session"`

	// Statements are run one after the other, in one transaction.
	Statements []Statement `yaml:"statements"`
	// Isolation of the transaction: read committed, repeatable read or
	// serializable. Default: the database's.
	Isolation string `yaml:"isolation"`
	// Types are those of values whose kind in JSON is not what the database
	// should get: text, int, float, bool, json, or bytes (of base64).
	Types map[string]string `yaml:"types"`
	// Optional are names of values that a payload may leave out: NULL.
	Optional []string `yaml:"optional"`
	// MaxRows bounds the rows of an answer. Default: 100, most: 10,000.
	MaxRows int `yaml:"max_rows"`
	// StatementTimeout bounds one statement. Default: that of the attempt.
	StatementTimeout time.Duration `yaml:"statement_timeout"`

	// DedupeTable is where the transaction writes down what it did, so that a
	// second attempt does nothing and answers the same. Default: none.
	DedupeTable string `yaml:"dedupe_table"`
	// CreateDedupeTable makes it when it is not there.
	CreateDedupeTable bool `yaml:"create_dedupe_table"`
}

// Statement is one statement of the operator: a text, or that with what is
// expected of it.
type Statement struct {
	SQL string `yaml:"sql"`
	// Expect is how many rows it has to change or to give; else nothing is
	// done, and the effect is refused. Default: any.
	Expect *int64 `yaml:"expect"`
	// Rows is whether its rows are wanted. Default: what its words say: SELECT,
	// VALUES, SHOW, CALL ... and RETURNING are.
	Rows *bool `yaml:"rows"`
}

// UnmarshalYAML reads a text, or fields.
func (s *Statement) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&s.SQL)
	}
	// What decodes the options does not look for strange fields in here.
	for i := 0; i+1 < len(node.Content); i += 2 {
		if name := node.Content[i].Value; !slices.Contains([]string{"sql", "expect", "rows"}, name) {
			return domain.Invalidf("unknown field %q of a statement: want sql, expect or rows", name)
		}
	}
	type fields Statement
	return node.Decode((*fields)(s))
}

// The drivers.
const (
	driverPostgres = "postgres"
	driverMySQL    = "mysql"
	driverSQLite   = "sqlite"
)

const (
	securityTLS  = "tls"
	securityNone = "none"
)

// Limits of an effect.
const (
	MaxStatements = 50
	MaxRows       = 10_000
)

var ports = map[string]string{driverPostgres: "5432", driverMySQL: "3306"}

var isolations = []string{"", "read committed", "repeatable read", "serializable"}

// isolation is how it is said in SQL.
func isolation(o *Options) string {
	if o.Isolation == "" {
		return ""
	}
	return "ISOLATION LEVEL " + o.Isolation
}

var types = []string{"", "text", "int", "float", "bool", "json", "bytes"}

// Names of settings and their values become parts of statements in some
// drivers.
var (
	settingName  = compiled(`^[a-zA-Z_][a-zA-Z0-9_.]{0,62}$`)
	settingValue = compiled(`^[a-zA-Z0-9_., +:/-]{0,200}$`)
	tableName    = compiled(`^[a-zA-Z_][a-zA-Z0-9_]{0,62}(\.[a-zA-Z_][a-zA-Z0-9_]{0,62})?$`)
)

// compiled is a pattern that is compiled at its first use: these take long, and every
// start of the program, for any command, would pay for them.
func compiled(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// fill sets defaults and looks whether all is right; else it names the field.
func (o *Options) fill(secrets *effect.Secrets) (field string, err error) {
	o.MaxRows = cmp.Or(o.MaxRows, 100)
	if _, known := dialects[o.Driver]; !known {
		return "driver", domain.Invalidf("is %q: want postgres, mysql or sqlite", o.Driver)
	}
	if o.Driver == driverSQLite {
		field, err = o.fillFile()
	} else {
		field, err = o.fillServer(secrets)
	}
	if err != nil {
		return field, err
	}
	for name, value := range o.Session {
		if !settingName().MatchString(name) || !settingValue().MatchString(value) {
			return "session", domain.Invalidf("%q: want a setting such as search_path: shop", name+": "+value)
		}
	}
	if !slices.Contains(isolations, o.Isolation) || o.Isolation != "" && o.Driver == driverSQLite {
		return "isolation", domain.Invalidf("is %q: want read committed, repeatable read or serializable; SQLite's is always serializable", o.Isolation)
	}
	switch {
	case o.MaxRows < 1 || o.MaxRows > MaxRows:
		return "max_rows", domain.Invalidf("is %d: want 1 to %d", o.MaxRows, MaxRows)
	case o.StatementTimeout < 0 || o.StatementTimeout > effect.MaxTimeout:
		return "statement_timeout", domain.Invalidf("is %s: want up to %s", o.StatementTimeout, effect.MaxTimeout)
	case o.DedupeTable != "" && !tableName().MatchString(o.DedupeTable):
		return "dedupe_table", domain.Invalidf("is %q: want the name of a table, or schema.table", o.DedupeTable)
	case o.CreateDedupeTable && o.DedupeTable == "":
		return "create_dedupe_table", domain.Invalidf("wants dedupe_table beside it")
	}
	return "", nil
}

func (o *Options) fillFile() (field string, err error) {
	for name, set := range map[string]bool{"address": o.Address != "", "database": o.Database != "", "user": o.User != "",
		"password": !o.Password.IsZero(), "security": o.Security != "", "tls": o.TLS != effect.TLS{}} {
		if set {
			return name, domain.Invalidf("is not for sqlite, which has a file")
		}
	}
	if o.File == "" {
		return "file", domain.Invalidf("is missing: want the path of a database")
	}
	return "", nil
}

func (o *Options) fillServer(secrets *effect.Secrets) (field string, err error) {
	path, socket := strings.CutPrefix(o.Address, "unix:")
	switch {
	case o.File != "":
		return "file", domain.Invalidf("is for sqlite only")
	case o.Address == "":
		return "address", domain.Invalidf("is missing: want host or host:port")
	case socket && !strings.HasPrefix(path, "/"):
		return "address", domain.Invalidf("is %q: want unix:/path", o.Address)
	case o.Database == "":
		return "database", domain.Invalidf("is missing: want its name")
	case o.User == "":
		return "user", domain.Invalidf("is missing: want its name")
	}
	for _, name := range o.Password.Secrets() {
		if err := secrets.Known(name); err != nil {
			return "password", err
		}
	}
	if socket {
		o.Security = cmp.Or(o.Security, securityNone)
	} else if o.Address, err = withPort(o.Address, ports[o.Driver]); err != nil {
		return "address", err
	}
	o.Security = cmp.Or(o.Security, securityTLS)
	if o.Security != securityTLS && o.Security != securityNone || socket && o.Security == securityTLS {
		return "security", domain.Invalidf("is %q: want tls or none; a socket's is none", o.Security)
	}
	return "", nil
}

// withPort is host:port of an address that may be without a port.
func withPort(address, port string) (string, error) {
	host, p, err := net.SplitHostPort(address)
	if err != nil {
		host, p = strings.Trim(address, "[]"), port
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 || host == "" || strings.ContainsAny(host, " /@?\r\n") {
		return "", domain.Invalidf("is %q: want host or host:port", address)
	}
	return net.JoinHostPort(host, p), nil
}

// program is the operator's statements, ready to be given values.
type program struct {
	statements []step
	types      map[string]string
	optional   map[string]bool
}

// step is one statement of it.
type step struct {
	statement
	expect *int64
}

// read reads the statements.
func (o *Options) read() (p program, field string, err error) {
	if n := len(o.Statements); n == 0 || n > MaxStatements {
		return p, "statements", domain.Invalidf("has %d: want 1 to %d", n, MaxStatements)
	}
	p.types, p.optional = o.Types, map[string]bool{}
	used := map[string]bool{}
	for i, s := range o.Statements {
		read, err := readStatement(s.SQL, dialects[o.Driver])
		if err != nil {
			return p, "statements", domain.Invalidf("no. %d: %v", i+1, err)
		}
		if s.Rows != nil {
			read.rows = *s.Rows
		}
		for _, name := range read.params {
			if strings.HasPrefix(name, "_") && !slices.Contains(ownNames, name) {
				return p, "statements", domain.Invalidf("no. %d: there is no :%s; there are %s", i+1, name, strings.Join(ownNames, ", "))
			}
			used[name] = true
		}
		p.statements = append(p.statements, step{read, s.Expect})
	}
	for _, name := range o.Optional {
		if p.optional[name] = true; !used[name] {
			return p, "optional", domain.Invalidf("has %q, which no statement uses", name)
		}
	}
	for name, kind := range o.Types {
		if !used[name] || !slices.Contains(types, kind) {
			return p, "types", domain.Invalidf("has %s: %s: want a name that a statement uses, and text, int, float, bool, json or bytes", name, kind)
		}
	}
	return p, "", nil
}
