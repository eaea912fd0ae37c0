package systemtest

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// unit has the settings of a unit file, by section and name. A setting may occur several times.
type unit map[string]map[string][]string

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	u := unit{}
	var section string
	lines := bufio.NewScanner(strings.NewReader(readFile(t, deployDir, "systemd", name)))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			u[section] = map[string][]string{}
		default:
			setting, value, ok := strings.Cut(line, "=")
			require.True(t, ok, "%s: %q", name, line)
			u[section][setting] = append(u[section][setting], value)
		}
	}
	return u
}

// deployable is the process of the unit, for an instance of it. The variables of its files are set in their order.
func (u unit) deployable(t *testing.T, instance string) deployable {
	t.Helper()
	specifiers := strings.NewReplacer("%i", instance)
	service := u["Service"]
	require.Len(t, service["ExecStart"], 1)
	words := strings.Fields(specifiers.Replace(service["ExecStart"][0]))
	require.Equal(t, "/usr/bin/carillon", words[0])
	d := deployable{name: words[1], args: words[1:], env: map[string]string{}}
	for _, file := range service["EnvironmentFile"] {
		name, ok := strings.CutPrefix(specifiers.Replace(file), "-/etc/carillon/")
		require.True(t, ok, file)
		for variable, value := range readEnv(t, deployDir, "systemd/env", name) {
			d.env[variable] = value
		}
	}
	return d
}

var unitRoles = []string{"frontend", "generator", "invoker", "backfiller", "history", "matching", "gateway", "archival", "console", "worker"}

// TestUnits checks what can be seen of the units without running them.
func TestUnits(t *testing.T) {
	t.Parallel()
	ports := map[string]string{}
	template := readUnit(t, "carillon@.service")
	for _, role := range unitRoles {
		d := template.deployable(t, role)
		requireDocumented(t, d)
		assert.NotContains(t, ports, d.env["CARILLON_HTTP"], "the roles of a machine need an address each")
		ports[d.env["CARILLON_HTTP"]] = role
		assert.NotContains(t, d.env, "CARILLON_CONSOLE_AUTH", "people log in on all addresses that others reach, unless somebody says otherwise")
		if address, found := d.env["CARILLON_CONSOLE"]; found {
			assert.True(t, strings.HasPrefix(address, "127.0.0.1:"), "%s: other machines reach %s", role, address)
		}
	}
	requireDocumented(t, readUnit(t, "carillon.service").deployable(t, ""))
	for _, name := range []string{"carillon.service", "carillon@.service"} {
		service := readUnit(t, name)["Service"]
		for setting, value := range map[string]string{
			"DynamicUser": "yes", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes",
			"CapabilityBoundingSet": "", "Restart": "on-failure", "MemoryDenyWriteExecute": "yes",
		} {
			assert.Equal(t, []string{value}, service[setting], "%s: %s", name, setting)
		}
	}
}

// TestUnitsRun starts the commands of carillon@.service, with the variables of the files that the packages install, and sees
// them work. It does the same with carillon.service, which has its own NATS server.
func TestUnitsRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts ten processes")
	}
	server := natstest.Server(t)
	template := readUnit(t, "carillon@.service")
	var all []deployable
	for _, role := range unitRoles {
		all = append(all, template.deployable(t, role))
	}
	replaceEnv(all, map[string]string{"CARILLON_NATS": server.ClientURL()})
	running := deploy(t, all)
	conn, _ := natstest.Connect(t, server)
	requireWork(t, conn, "carillon")
	running.requireWorkflow("")
	running.stop()

	single := readUnit(t, "carillon.service").deployable(t, "")
	state := t.TempDir()
	for i, word := range single.args {
		single.args[i] = strings.ReplaceAll(word, "${STATE_DIRECTORY}", state)
	}
	port := strconv.Itoa(quietPort(t))
	single.env["CARILLON_PORT"] = port
	running = deploy(t, []deployable{single})
	requireWork(t, connectWhenUp(t, "nats://127.0.0.1:"+port), "carillon")
	running.requireWorkflow("")
	running.stop()
	_, err := os.Stat(state + "/jetstream")
	assert.NoError(t, err, "the data is in the folder that systemd gives it")
}
