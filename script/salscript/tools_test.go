package salscript_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/salscript"
)

// toolExamples call each function of a tool once, against stand-ins that print
// their arguments, an argument a line. What is wanted is a part of that.
var toolExamples = []example{
	{"apt-get", `package_install("curl").stdout`, "apt-get install -y -- curl"},
	{"apt-get", `package_remove("curl").stdout`, "apt-get remove -y -- curl"},
	{"apt-get", `package_update().stdout`, "apt-get update"},
	{"apt-get", `package_upgrade().stdout`, "apt-get upgrade -y"},
	{"apt-get", `package_list()`, `["dpkg-query --show`},
	{"apt-get", `package_search("cu")`, `["apt-cache search -- cu"]`},
	{"apt-get", `package_is_installed("curl")`, "false"},
	{"apt-get", `package_platform()`, "apt-get"},
	{"apt-get", `package_set_debug(true)`, "true"},
	{"apt-get", `let said = ""; try { download_install("no address", 0) } catch (e) { said = e } said`, "is no URL"},
	{"ssh", `ssh_execute_output("host", "me", "ls -l")`, "ssh -o BatchMode=yes -o ConnectTimeout=10 -- me@host ls -l"},
	{"ssh", `ssh_execute("host", "me", "true")`, "0"},
	{"ssh", `ssh_ping("host", "me")`, "true"},
	{"ssh", `let said = ""; try { ssh_ping("-oProxyCommand=x", "me") } catch (e) { said = e } said`, `ssh: user "me" and host "-oProxyCommand=x": want names`},
	{"zinit", `zinit_list("/s").stdout`, "zinit --socket /s list"},
	{"zinit", `zinit_status("/s", "web").stdout`, "zinit --socket /s status web"},
	{"zinit", `zinit_start("/s", "web").stdout`, "start web"},
	{"zinit", `zinit_stop("/s", "web").stdout`, "stop web"},
	{"zinit", `zinit_restart("/s", "web").stdout`, "restart web"},
	{"zinit", `zinit_monitor("/s", "web").stdout`, "monitor web"},
	{"zinit", `zinit_forget("/s", "web").stdout`, "forget web"},
	{"zinit", `zinit_kill("/s", "web", "SIGHUP").stdout`, "kill web SIGHUP"},
	{"zinit", `zinit_create_service("/s", "web", "serve", true).stdout`, "create web serve true"},
	{"zinit", `zinit_delete_service("/s", "web").stdout`, "delete web"},
	{"zinit", `zinit_get_service("/s", "web").stdout`, "get web"},
	{"zinit", `zinit_logs("/s", "web").stdout`, "log web"},
	{"zinit", `zinit_logs_all("/s").stdout`, "zinit --socket /s log"},
	{"psql", `pg_execute("DELETE")`, "--command=DELETE"},
	{"psql", `let said = ""; try { pg_query("SELECT 2;") } catch (e) { said = e } said`, "expected value"}, // the stand-in gives no JSON
	{"psql", `let said = ""; try { pg_query_one("SELECT 2") } catch (e) { said = e } said`, "expected value"},
	{"psql", `[pg_connect(), pg_ping(), pg_reset()]`, "[false,false,false]"},
	{"nerdctl", `pg_install("db", "16", 5433, "me", "geheim")`, "true"},
	{"nerdctl", `pg_create_database("db", "shop")`, "true"},
	{"nerdctl", `pg_execute_sql("db", "shop", "SELECT 1")`, "nerdctl exec db psql --username=postgres --dbname=shop --command=SELECT 1"},
	{"nerdctl", `pg_is_running("db")`, "false"},
	{"buildah", `bah("b", "alpine"); let b = bah_new("b", "alpine"); [b.run("ls").stdout, b.copy("a", "/b").stdout, b.add("a", "/b").stdout, ` +
		`b.write("x", "/f").success]`, `["buildah run -- b /bin/sh -c ls\n","buildah copy -- b a /b\n","buildah add -- b a /b\n",true]`},
	{"buildah", `let b = bah("b", "alpine"); [b.entrypoint("sh").stdout, b.cmd("ls").stdout, b.commit("img").stdout, b.remove().stdout]`,
		`["buildah config --entrypoint=sh -- b\n","buildah config --cmd=ls -- b\n","buildah commit -- b img\n","buildah rm -- b\n"]`},
	{"nerdctl",
		`nerdctl_container_from_image("web", "nginx").reset().with_port("80:80").with_ports(["81:81"]).with_volume("/a:/b")
		.with_env("A", "1").with_envs(#{C: "3", B: "2"}).with_network("n").with_network_alias("w")
		.with_cpu_limit("1").with_memory_limit("64m").with_memory_swap_limit("65m").with_cpu_shares("9")
		.with_restart_policy("always").with_health_check("true").with_snapshotter("native").with_detach(false).with_detach(true).build().stdout`,
		"nerdctl run --name=web --publish=80:80 --publish=81:81 --volume=/a:/b --env=A=1 --env=B=2 --env=C=3 --network=n --network-alias=w --cpus=1 " +
			"--memory=64m --memory-swap=65m --cpu-shares=9 --restart=always --health-cmd=true --snapshotter=native --detach -- nginx"},
	{"nerdctl", `let c = nerdctl_container_new("web"); [c.start().stdout, c.stop().stdout, c.exec("ls").stdout, c.logs().stdout, c.copy("a", ` +
		`"web:/b").stdout, c.remove().stdout]`,
		`["nerdctl start -- web\n","nerdctl stop -- web\n","nerdctl exec web /bin/sh -c ls\n","nerdctl logs -- web\n","nerdctl cp -- a web:/b\n",` +
			`"nerdctl rm --force -- web\n"]`},
	{"nerdctl", `[nerdctl_run("img").stdout, nerdctl_run_with_name("img", "n").stdout, nerdctl_run_with_port("img", "n", "1:2").stdout, ` +
		`nerdctl_exec("n", "ls").stdout]`,
		`["nerdctl run --detach -- img\n","nerdctl run --detach --name=n -- img\n","nerdctl run --detach --name=n --publish=1:2 -- img\n","nerdctl exec ` +
			`n /bin/sh -c ls\n"]`},
	{"nerdctl", `[nerdctl_copy("a", "n:/b").stdout, nerdctl_stop("n").stdout, nerdctl_remove("n").stdout, nerdctl_logs("n").stdout, ` +
		`nerdctl_list(true).stdout, nerdctl_list(false).stdout, nerdctl_images().stdout]`,
		`["nerdctl cp -- a n:/b\n","nerdctl stop -- n\n","nerdctl rm --force -- n\n","nerdctl logs -- n\n","nerdctl ps --all\n","nerdctl ps\n","nerdctl images\n"]`},
	{"nerdctl", `[nerdctl_image_remove("i").stdout, nerdctl_image_push("i").stdout, nerdctl_image_pull("i").stdout, nerdctl_image_tag("i", ` +
		`"j").stdout, nerdctl_image_commit("n", "i").stdout, nerdctl_image_build("i", ".").stdout]`,
		`["nerdctl rmi -- i\n","nerdctl push -- i\n","nerdctl pull -- i\n","nerdctl tag -- i j\n","nerdctl commit -- n i\n","nerdctl build --tag=i -- .\n"]`},
	{"nerdctl", `let said = ""; try { nerdctl_exec("--privileged", "ls") } catch (e) { said = e } said`, `"--privileged" is no name`},
}

func TestTools(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"apt-get", "dpkg-query", "apt-cache", "ssh", "zinit", "psql", "nerdctl", "buildah"} {
		text := "#!/bin/sh\necho \"${0##*/}\" \"$@\"\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runtime := salscript.New(salscript.Config{On: true, Jail: cell(t), Tools: []string{"apt-get", "ssh", "zinit", "psql", "nerdctl", "buildah"},
		Env: map[string]string{"PATH": bin + ":" + os.Getenv("PATH")}})
	defer runtime.Close()
	for _, tt := range toolExamples {
		outcome, host := job(t, runtime, tt.source, nil)
		if got := outcome.Result["value"]; outcome.Verdict != script.Succeeded || !strings.Contains(got, tt.want) {
			t.Errorf("%s\ngot %s %q, want %q; %s %q", tt.source, outcome.Verdict, got, tt.want, outcome.Error, host.Lines("stderr"))
		}
	}
}

func TestToolsThatAreNotAllowedOrNotThere(t *testing.T) {
	j := cell(t)
	for _, tt := range []struct {
		name  string
		tools []string
		want  string
	}{
		{"not allowed", nil, ": it is not allowed; the operator can add it to runtimes.sal.tools in the config file"},
		{"not installed", []string{"apt-get", "ssh", "zinit", "psql", "nerdctl", "buildah"}, ": it is not installed"},
	} {
		runtime := salscript.New(salscript.Config{On: true, Jail: j, Tools: tt.tools, Env: map[string]string{"PATH": "/nowhere"}})
		defer runtime.Close()
		for _, e := range toolExamples {
			if strings.Contains(e.source, "try") {
				continue
			}
			// The first function that is called finds out.
			source := "let said = \"no error\"; try { " + e.source + " } catch (e) { said = e } said"
			outcome, _ := job(t, runtime, source, nil)
			if got, want := outcome.Result["value"], "not available: "+e.name+tt.want; got != want {
				t.Errorf("%s, %s\ngot %q, want %q", tt.name, regexp.MustCompile(`^\W*\w+`).FindString(e.source), got, want)
			}
		}
	}
}
