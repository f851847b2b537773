package salscript

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds the functions on packages, services and databases. Each
// works through a tool, and only where the operator allows that and it is
// installed; elsewhere all of them say "not available: <tool>".

// available tells why a tool cannot be used.
func (h *host) available(tool string) error {
	if !slices.Contains(h.cfg.Tools, tool) {
		return fmt.Errorf("not available: %s: it is not allowed; the operator can add it to runtimes.sal.tools in the config file", tool)
	}
	if _, err := exec.LookPath(tool); err != nil {
		return fmt.Errorf("not available: %s: it is not installed", tool)
	}
	return nil
}

// tool runs a tool. That it fails is its result.
func (h *host) tool(args ...string) (*commandResult, error) {
	if err := h.available(args[0]); err != nil {
		return nil, err
	}
	return h.start(args, nil, false, false)
}

// named refuses words that a tool would take for options.
func named(words ...string) error {
	for _, w := range words {
		if w == "" || strings.HasPrefix(w, "-") {
			return fmt.Errorf("%q is no name", w)
		}
	}
	return nil
}

func (h *host) toolFunctions() []function {
	return slices.Concat(h.packageFunctions(), h.zinitFunctions(), h.postgresFunctions(), h.buildahFunctions(), h.nerdctlFunctions())
}

// aptEnv keeps apt-get from asking.
var aptEnv = []string{"DEBIAN_FRONTEND=noninteractive"}

func (h *host) packageFunctions() []function {
	apt := func(words ...string) (*commandResult, error) {
		if err := h.available("apt-get"); err != nil {
			return nil, err
		}
		return h.start(words, aptEnv, false, false)
	}
	names := func(words ...string) ([]string, error) {
		result, err := apt(words...)
		if err != nil {
			return nil, err
		}
		list := lines(result.stdout)
		for i := range list {
			list[i], _, _ = strings.Cut(list[i], " - ")
		}
		return list, nil
	}
	return []function{
		{"package_install", func(name string) (*commandResult, error) { return apt("apt-get", "install", "-y", "--", name) }},
		{"package_remove", func(name string) (*commandResult, error) { return apt("apt-get", "remove", "-y", "--", name) }},
		{"package_update", func() (*commandResult, error) { return apt("apt-get", "update") }},
		{"package_upgrade", func() (*commandResult, error) { return apt("apt-get", "upgrade", "-y") }},
		{"package_list", func() ([]string, error) { return names("dpkg-query", "--show", "--showformat=${Package}\n") }},
		{"package_search", func(text string) ([]string, error) { return names("apt-cache", "search", "--", text) }},
		{"package_is_installed", func(name string) (bool, error) {
			result, err := apt("dpkg-query", "--show", "--showformat=${Status}", "--", name)
			return err == nil && strings.HasSuffix(result.stdout, " installed"), err
		}},
		{"package_platform", func() (string, error) { return "apt-get", h.available("apt-get") }},
		{"package_set_debug", func(on bool) (bool, error) { return on, h.available("apt-get") }},
	}
}

func (h *host) zinitFunctions() []function {
	zinit := func(socket string, words ...string) (*commandResult, error) {
		if err := named(words[1:]...); err != nil {
			return nil, err
		}
		return h.tool(append([]string{"zinit", "--socket", socket}, words...)...)
	}
	one := func(verb string) any {
		return func(socket, name string) (*commandResult, error) { return zinit(socket, verb, name) }
	}
	return []function{
		{"zinit_list", func(socket string) (*commandResult, error) { return zinit(socket, "list") }},
		{"zinit_status", one("status")}, {"zinit_start", one("start")}, {"zinit_stop", one("stop")}, {"zinit_restart", one("restart")},
		{"zinit_monitor", one("monitor")}, {"zinit_forget", one("forget")}, {"zinit_delete_service", one("delete")}, {"zinit_get_service", one("get")},
		{"zinit_kill", func(socket, name, signal string) (*commandResult, error) { return zinit(socket, "kill", name, signal) }},
		{"zinit_create_service", func(socket, name, command string, once bool) (*commandResult, error) {
			return zinit(socket, "create", name, command, strconv.FormatBool(once))
		}},
		{"zinit_logs", one("log")},
		{"zinit_logs_all", func(socket string) (*commandResult, error) { return zinit(socket, "log") }},
	}
}

// postgresFunctions go to the server that the PG* variables of the environment name.
func (h *host) postgresFunctions() []function {
	psql := func(sql string) (string, error) {
		if err := h.available("psql"); err != nil {
			return "", err
		}
		return h.output("psql", "--no-psqlrc", "--no-password", "--quiet", "--no-align", "--tuples-only",
			"--set=ON_ERROR_STOP=1", "--command="+sql)
	}
	query := func(sql string) (value.Value, error) {
		text, err := psql("SELECT coalesce(json_agg(t), '[]') FROM (" + strings.TrimRight(sql, "; \n\t") + "\n) t")
		if err != nil {
			return value.Value{}, err
		}
		return value.ReadJSON(text)
	}
	ping := func() (bool, error) {
		text, err := psql("SELECT 1")
		return text == "1", err
	}
	inside := func(name, database, sql string) (*commandResult, error) {
		if err := named(name, database); err != nil {
			return nil, err
		}
		return h.tool("nerdctl", "exec", name, "psql", "--username=postgres", "--dbname="+database, "--command="+sql)
	}
	return []function{
		{"pg_connect", ping}, {"pg_ping", ping}, {"pg_reset", ping},
		{"pg_execute", psql}, {"pg_query", query},
		{"pg_query_one", func(sql string) (value.Value, error) {
			rows, err := query(sql)
			if err == nil && len(rows.AsArray().Items) == 0 {
				err = errors.New("pg_query_one: there is no row")
			}
			if err != nil {
				return value.Value{}, err
			}
			return rows.AsArray().Items[0], nil
		}},
		{"pg_install", func(name, version string, port int64, user, password string) (bool, error) {
			if err := errors.Join(named(name, version, user), h.available("nerdctl")); err != nil {
				return false, err
			}
			// The secrets by environment: arguments can be seen by everybody.
			_, err := h.outputWith([]string{"POSTGRES_USER=" + user, "POSTGRES_PASSWORD=" + password}, "nerdctl", "run", "--detach",
				"--name="+name, "--env=POSTGRES_USER", "--env=POSTGRES_PASSWORD", fmt.Sprintf("--publish=%d:5432", port), "postgres:"+version)
			return err == nil, err
		}},
		{"pg_create_database", func(name, database string) (bool, error) {
			result, err := inside(name, "postgres", `CREATE DATABASE "`+strings.ReplaceAll(database, `"`, `""`)+`"`)
			return err == nil && result.code == 0, err
		}},
		{"pg_execute_sql", func(name, database, sql string) (string, error) {
			result, err := inside(name, database, sql)
			if err != nil {
				return "", err
			}
			return result.stdout, nil
		}},
		{"pg_is_running", func(name string) (bool, error) {
			result, err := h.tool("nerdctl", "inspect", "--format={{.State.Running}}", "--", name)
			return err == nil && strings.TrimSpace(result.stdout) == "true", err
		}},
	}
}

// builder is a container of buildah that becomes an image.
type builder struct{ name string }

func (h *host) buildahFunctions() []function {
	create := func(name, image string) (*builder, error) {
		if err := named(name, image); err != nil {
			return nil, err
		}
		if err := h.available("buildah"); err != nil {
			return nil, err
		}
		_, err := h.output("buildah", "from", "--name="+name, "--", image)
		return &builder{name}, err
	}
	carry := func(verb string) func(b *builder, src, dst string) (*commandResult, error) {
		return func(b *builder, src, dst string) (*commandResult, error) {
			return h.tool("buildah", verb, "--", b.name, src, dst)
		}
	}
	return []function{
		{"bah_new", create}, {"bah", create}, {"copy", carry("copy")}, {"add", carry("add")},
		{"run", func(b *builder, text string) (*commandResult, error) {
			return h.tool("buildah", "run", "--", b.name, "/bin/sh", "-c", text)
		}},
		{"write", func(b *builder, content, path string) (*commandResult, error) {
			file := filepath.Join(os.TempDir(), "buildah-write")
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				return nil, err
			}
			return h.tool("buildah", "copy", "--", b.name, file, path)
		}},
		{"entrypoint", func(b *builder, text string) (*commandResult, error) {
			return h.tool("buildah", "config", "--entrypoint="+text, "--", b.name)
		}},
		{"cmd", func(b *builder, text string) (*commandResult, error) {
			return h.tool("buildah", "config", "--cmd="+text, "--", b.name)
		}},
		{"commit", func(b *builder, image string) (*commandResult, error) {
			return h.tool("buildah", "commit", "--", b.name, image)
		}},
		{"remove", func(b *builder) (*commandResult, error) { return h.tool("buildah", "rm", "--", b.name) }},
	}
}
