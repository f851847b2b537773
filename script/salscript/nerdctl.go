package salscript

import (
	"maps"
	"slices"
	"strings"
)

// container is one of nerdctl: its options are gathered, then it is built.
type container struct {
	name, image string
	options     []string
}

func (h *host) nerdctlFunctions() []function {
	return slices.Concat(h.containerFunctions(), h.imageFunctions())
}

func (h *host) nerdctl(words ...string) (*commandResult, error) {
	return h.tool(append([]string{"nerdctl"}, words...)...)
}

func (h *host) containerFunctions() []function {
	create := func(name, image string) (*container, error) {
		if err := h.available("nerdctl"); err != nil {
			return nil, err
		}
		return &container{name: name, image: image, options: []string{"--detach"}}, named(name)
	}
	option := func(flag string) func(c *container, text string) *container {
		return func(c *container, text string) *container { c.options = append(c.options, flag+"="+text); return c }
	}
	options := func(flag string) func(c *container, texts []string) *container {
		return func(c *container, texts []string) *container {
			for _, text := range texts {
				c.options = append(c.options, flag+"="+text)
			}
			return c
		}
	}
	do := func(verb ...string) func(c *container) (*commandResult, error) {
		return func(c *container) (*commandResult, error) {
			return h.nerdctl(append(slices.Clone(verb), "--", c.name)...)
		}
	}
	build := func(c *container) (*commandResult, error) {
		if err := named(c.image); err != nil {
			return nil, err
		}
		return h.nerdctl(slices.Concat([]string{"run", "--name=" + c.name}, c.options, []string{"--", c.image})...)
	}
	return []function{
		{"nerdctl_container_new", func(name string) (*container, error) { return create(name, "") }},
		{"nerdctl_container_from_image", create},
		{"reset", func(c *container) *container { c.options = []string{"--detach"}; return c }},
		{"with_port", option("--publish")}, {"with_ports", options("--publish")}, {"with_volume", option("--volume")},
		{"with_env", func(c *container, key, text string) *container { return option("--env")(c, key+"="+text) }},
		{"with_envs", func(c *container, env map[string]string) *container {
			for _, key := range slices.Sorted(maps.Keys(env)) {
				c.options = append(c.options, "--env="+key+"="+env[key])
			}
			return c
		}},
		{"with_network", option("--network")}, {"with_network_alias", option("--network-alias")}, {"with_cpu_limit", option("--cpus")},
		{"with_memory_limit", option("--memory")}, {"with_memory_swap_limit", option("--memory-swap")}, {"with_cpu_shares", option("--cpu-shares")},
		{"with_restart_policy", option("--restart")}, {"with_health_check", option("--health-cmd")}, {"with_snapshotter", option("--snapshotter")},
		{"with_detach", func(c *container, on bool) *container {
			c.options = slices.DeleteFunc(c.options, func(o string) bool { return strings.HasPrefix(o, "--detach") })
			if on {
				c.options = append(c.options, "--detach")
			}
			return c
		}},
		{"build", build}, {"start", do("start")}, {"stop", do("stop")}, {"remove", do("rm", "--force")}, {"logs", do("logs")},
		{"exec", func(c *container, text string) (*commandResult, error) {
			return h.nerdctl("exec", c.name, "/bin/sh", "-c", text)
		}},
		{"copy", func(c *container, src, dst string) (*commandResult, error) { return h.nerdctl("cp", "--", src, dst) }},
	}
}

func (h *host) imageFunctions() []function {
	one := func(verb ...string) func(name string) (*commandResult, error) {
		return func(name string) (*commandResult, error) { return h.nerdctl(append(slices.Clone(verb), "--", name)...) }
	}
	two := func(verb ...string) func(a, b string) (*commandResult, error) {
		return func(a, b string) (*commandResult, error) { return h.nerdctl(append(slices.Clone(verb), "--", a, b)...) }
	}
	return []function{
		{"nerdctl_run", one("run", "--detach")},
		{"nerdctl_run_with_name", func(image, name string) (*commandResult, error) {
			return h.nerdctl("run", "--detach", "--name="+name, "--", image)
		}},
		{"nerdctl_run_with_port", func(image, name, port string) (*commandResult, error) {
			return h.nerdctl("run", "--detach", "--name="+name, "--publish="+port, "--", image)
		}},
		{"nerdctl_exec", func(name, text string) (*commandResult, error) {
			if err := named(name); err != nil {
				return nil, err
			}
			return h.nerdctl("exec", name, "/bin/sh", "-c", text)
		}},
		{"nerdctl_copy", two("cp")}, {"nerdctl_stop", one("stop")}, {"nerdctl_remove", one("rm", "--force")}, {"nerdctl_logs", one("logs")},
		{"nerdctl_list", func(all bool) (*commandResult, error) {
			if all {
				return h.nerdctl("ps", "--all")
			}
			return h.nerdctl("ps")
		}},
		{"nerdctl_images", func() (*commandResult, error) { return h.nerdctl("images") }},
		{"nerdctl_image_remove", one("rmi")}, {"nerdctl_image_push", one("push")}, {"nerdctl_image_pull", one("pull")},
		{"nerdctl_image_tag", two("tag")}, {"nerdctl_image_commit", two("commit")},
		{"nerdctl_image_build", func(tag, folder string) (*commandResult, error) {
			return h.nerdctl("build", "--tag="+tag, "--", folder)
		}},
	}
}
