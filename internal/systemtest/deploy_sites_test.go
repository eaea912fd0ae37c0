package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// deployedSite is one of two sites, made of files of deploy/. Its NATS servers run.
type deployedSite struct {
	t              *testing.T
	urls, password string
	// all are the processes, which do not run yet.
	all []deployable
}

// carillon runs a command as the operator.
func (s *deployedSite) carillon(args ...string) string {
	s.t.Helper()
	binary, err := carillon()
	require.NoError(s.t, err)
	out, err := exec.CommandContext(s.t.Context(), binary, append(args, "--nats", s.urls, "--user", "operator", "--password", s.password)...).CombinedOutput()
	require.NoError(s.t, err, string(out))
	return string(out)
}

func (s *deployedSite) connect() *nats.Conn {
	s.t.Helper()
	conn, err := nats.Connect(s.urls, nats.UserInfo("operator", s.password))
	require.NoError(s.t, err)
	s.t.Cleanup(conn.Close)
	return conn
}

// start starts a process of each role that schedules and a handover need, and waits until they are ready. A worker at a standby is not, so it is only started.
func (s *deployedSite) start(standby bool) *deployment {
	s.t.Helper()
	d := deploy(s.t, s.each("frontend", "generator", "invoker", "replication"))
	worker := s.each("worker")
	if !standby {
		workers := deploy(s.t, worker)
		return &deployment{s.t, append(d.all, workers.all...), append(d.processes, workers.processes...)}
	}
	return &deployment{s.t, append(d.all, worker...), append(d.processes, worker[0].start(s.t))}
}

// each returns one process of each role.
func (s *deployedSite) each(roles ...string) (few []deployable) {
	for _, role := range roles {
		i := slices.IndexFunc(s.all, func(d deployable) bool { return d.role() == role })
		require.GreaterOrEqual(s.t, i, 0, role)
		few = append(few, s.all[i])
	}
	return few
}

// requireHandover links two sites in the order that the documentation says, and hands the installation over. Nothing that a process does may be forbidden.
func requireHandover(t *testing.T, east, west *deployedSite) {
	t.Helper()
	here := east.start(false)
	requireWork(t, east.connect(), "carillon")
	east.carillon("site", "link", "west")
	west.carillon("site", "link", "east", "--standby")
	there := west.start(true)
	natstest.Eventually(t, 2*patience, "the standby to have everything", func() bool {
		return strings.Contains(west.carillon("site", "status"), "the standby has everything")
	})
	east.carillon("site", "handover")
	api, err := client.New(west.connect(), client.Config{Timeout: patience})
	require.NoError(t, err)
	_, err = api.Trigger(t.Context(), schedule.TriggerRequest{ID: "manual"})
	require.NoError(t, err)
	natstest.Eventually(t, patience, "the runs of both sites to complete", func() bool {
		described, err := api.Describe(t.Context(), "manual")
		require.NoError(t, err)
		return len(slices.DeleteFunc(described.Info.RecentActions, func(r schedule.Run) bool { return r.Status != schedule.StatusCompleted })) == 2
	})
	natstest.Eventually(t, 2*patience, "the first site to be a standby", func() bool {
		return strings.Contains(east.carillon("site", "status"), "the standby has everything")
	})
	for _, d := range []*deployment{here, there} {
		d.stop()
		for i, p := range d.processes {
			assert.NotContains(t, strings.ToLower(p.log.tail(1<<20)), "permissions violation", d.all[i].name)
		}
	}
}

// TestComposeAtTwoSites starts what docker-compose.yml starts on two machines, and hands the installation over.
func TestComposeAtTwoSites(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts six servers and ten processes")
	}
	leaves := map[string]string{}
	for port := 7422; port <= 7424; port++ {
		leaves[fmt.Sprintf("127.0.0.1:%d", port)] = fmt.Sprintf("127.0.0.1:%d", quietPort(t))
	}
	var sites []*deployedSite
	for _, site := range commentedSites(t) {
		delete(site, "CARILLON_EAST_ADDRESS") // both are on this machine
		delete(site, "CARILLON_LEAF_ADDRESS")
		file, example := readCompose(t, site)
		urls := startComposeNATS(t, file, leaves)
		all := file.deployables(site["COMPOSE_PROFILES"])
		replaceEnv(all, map[string]string{"CARILLON_NATS": urls, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": ""})
		sites = append(sites, &deployedSite{t: t, urls: urls, password: example["CARILLON_OPERATOR_PASSWORD"], all: all})
	}
	require.Len(t, sites, 2)
	requireHandover(t, sites[0], sites[1])
}

// commentedSites are the variables of the sites, which are comments in example.env.
func commentedSites(t *testing.T) (sites []map[string]string) {
	t.Helper()
	for line := range strings.Lines(readFile(t, deployDir, "compose/example.env")) {
		assignment := regexp.MustCompile(`^#([A-Z_]+)=(.+)\n$`).FindStringSubmatch(line)
		switch {
		case assignment == nil:
			continue
		case assignment[1] == "COMPOSE_PROFILES":
			sites = append(sites, map[string]string{})
		}
		sites[len(sites)-1][assignment[1]] = assignment[2]
	}
	return sites
}

// TestComposeNeedsAPasswordBetweenSites: the NATS servers of a site do not start without the password between the sites. One site alone needs none.
func TestComposeNeedsAPasswordBetweenSites(t *testing.T) {
	alone, _ := readCompose(t, nil)
	o, err := readComposeNATS(t, alone.Services["nats-1"])
	require.NoError(t, err)
	require.Zero(t, o.LeafNode.Port)
	require.Empty(t, o.LeafNode.Remotes)
	for _, site := range commentedSites(t) {
		password := site["CARILLON_LEAF_PASSWORD"]
		file, _ := readCompose(t, site)
		o, err := readComposeNATS(t, file.Services["nats-1"])
		require.NoError(t, err)
		if site["CARILLON_SITE"] == "east" {
			require.Equal(t, password, o.LeafNode.Password)
		} else {
			there, _ := o.LeafNode.Remotes[0].URLs[0].User.Password()
			require.Equal(t, password, there)
		}
		delete(site, "CARILLON_LEAF_PASSWORD")
		file, _ = readCompose(t, site)
		_, err = readComposeNATS(t, file.Services["nats-1"])
		require.Error(t, err, site["CARILLON_SITE"])
	}
}

// readComposeNATS reads the configuration of a service as NATS does in its container: from the mounted files, with the variables in the environment.
func readComposeNATS(t *testing.T, service composeService) (*server.Options, error) {
	t.Helper()
	dir := t.TempDir()
	for _, volume := range service.Volumes {
		source, target, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":/etc/nats/")
		if target != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, target), []byte(readFile(t, deployDir, "compose", source)), 0o600))
		}
	}
	for name, value := range service.Environment {
		t.Setenv(name, value)
	}
	return server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
}

// leafAddress is where a server waits for the other site in the test: at the port that its service publishes.
func leafAddress(t *testing.T, service composeService, leaves map[string]string) (host string, port int) {
	t.Helper()
	for _, published := range service.Ports {
		if at, ok := strings.CutSuffix(published, ":7422"); ok {
			host, number, err := net.SplitHostPort(leaves[at])
			require.NoError(t, err, at)
			port, err = strconv.Atoi(number)
			require.NoError(t, err)
			return host, port
		}
	}
	require.Fail(t, "no port for the other site is published")
	return "", 0
}

// TestChartAtTwoSites starts NATS with the values for the official chart of both sites, and the commands of our chart, and hands the installation over.
func TestChartAtTwoSites(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts two servers and ten processes")
	}
	leaf, ca := quietPort(t), natstest.NewAuthority(t)
	ca.Issue("server")
	var sites []*deployedSite
	for _, name := range []string{"east", "west"} {
		url := startChartNATS(t, name, leaf, ca)
		over := values{
			"installation": values{"replicas": 1},
			"nats":         values{"credentials": values{"kind": "user", "secret": "carillon-service", "inboxPrefix": "_INBOX_service"}},
			"workers":      values{"default": values{"credentials": values{"secret": "carillon-worker", "inboxPrefix": "", "jsAPIPrefix": "js.carillon.API"}}},
			"replication": values{
				"enabled": true, "credentials": values{"secret": "carillon-replication", "inboxPrefix": "_INBOX_replication"},
			},
		}
		var all []deployable
		for _, deployment := range chartObjects(t, over)["Deployment"] {
			d := deployment.deployable()
			user := map[string]string{"worker": "worker", "replication": "replication"}[d.role()]
			if user == "" {
				user = "service"
			}
			one := []deployable{d}
			replaceEnv(one, map[string]string{
				"CARILLON_NATS": url, "CARILLON_USER": user, "CARILLON_PASSWORD": "secret", "GOMEMLIMIT": strconv.Itoa(512 << 20),
			})
			all = append(all, one...)
		}
		sites = append(sites, &deployedSite{t: t, urls: url, password: "secret", all: all})
	}
	requireHandover(t, sites[0], sites[1])
}

// startChartNATS runs one NATS server as the official chart configures those of a site. leaf is the port at which the first site waits for the second one, with a certificate of
// an authority.
func startChartNATS(t *testing.T, site string, leaf int, ca *natstest.Authority) (url string) {
	t.Helper()
	all := values{}
	for _, file := range []string{"nats-values.yaml", "nats-" + site + "-values.yaml"} {
		var own values
		require.NoError(t, yaml.Unmarshal([]byte(readFile(t, deployDir, "helm", file)), &own))
		all = merged(all, own)
	}
	config := all["config"].(values)
	conf := config["merge"].(values)
	conf["jetstream"] = merged(config["jetstream"].(values)["merge"].(values), values{"store_dir": t.TempDir(), "sync_interval": "2m"}) // the disk of a test is slow
	if leafnodes, ok := config["leafnodes"].(values); ok {
		require.Equal(t, true, leafnodes["tls"].(values)["enabled"], "a password passes between the sites")
		conf["leafnodes"] = merged(leafnodes["merge"].(values), values{
			"listen": fmt.Sprintf("127.0.0.1:%d", leaf), "no_advertise": true,
			"tls": values{"cert_file": ca.Path("server.pem"), "key_file": ca.Path("server.key")},
		})
	} else {
		remote := conf["leafnodes"].(values)["remotes"].([]any)[0].(values)
		remote["tls"] = values{"ca_file": ca.Path("ca.pem")}
	}
	var text bytes.Buffer
	for name := range all["container"].(values)["env"].(values) {
		value := "secret"
		if name == "CARILLON_EAST" {
			value = fmt.Sprintf("tls://site:secret@127.0.0.1:%d", leaf)
		}
		fmt.Fprintf(&text, "%s: %q\n", name, value)
	}
	for name, value := range conf {
		one, err := json.Marshal(value)
		require.NoError(t, err)
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(one))
		fmt.Fprintf(&text, "%s: %s\n", name, regexp.MustCompile(`"<< (.+?) >>"`).ReplaceAllString(plain, "$1"))
	}
	path := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))
	o, err := server.ProcessConfigFile(path)
	require.NoError(t, err)
	assert.Equal(t, site, o.JetStreamDomain)
	o.Host, o.Port, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	s := startNATS(t, o)
	require.True(t, s.ReadyForConnections(patience))
	return s.ClientURL()
}
