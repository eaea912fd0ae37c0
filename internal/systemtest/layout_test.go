package systemtest

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/carillon-scheduler/carillon/"

// TestDependenciesPointDownwards: packages import only what the design allows.
func TestDependenciesPointDownwards(t *testing.T) {
	t.Parallel()
	pool := []string{
		"schedule", "specproc", "specproc/prose", "subjects", "kv", "internal/apitext", "internal/codec", "internal/suggest", "internal/wire",
		"internal/bus", "internal/cache", "internal/loop", "internal/pool", "internal/task", "internal/telemetry",
		"internal/deadletter", "internal/events", "internal/flood", "internal/metrics", "internal/namespaces",
	}
	allowed := map[string][]string{
		"schedule":       {"internal/jsontext", "internal/payload", "internal/suggest", "internal/zonedata"},
		"specproc":       {"schedule", "internal/wire"},
		"specproc/prose": {"schedule", "specproc"},
		"subjects":       {"schedule", "internal/wire"},
		"kv":             {"schedule", "subjects", "internal/bus", "internal/metrics", "internal/codec", "internal/wire"},
		"archival": {"execution", "kv", "schedule", "subjects", "internal/archive", "internal/archive/progress", "internal/bus", "internal/call",
			"internal/eventpage", "internal/flood", "internal/journal", "internal/metrics", "internal/namespaces", "internal/search/query", "internal/workflows"},
		"replication": {"schedule", "subjects", "internal/bus", "internal/consistency", "internal/flood", "internal/metrics", "internal/presence", "internal/site",
			"internal/taskqueue", "internal/topology"},
		"internal/site":                {"schedule", "subjects", "internal/bus"},
		"internal/eventpage":           {"internal/codec"},
		"internal/archive":             {"subjects", "internal/archive/objectstore", "internal/bus"},
		"internal/archive/objectstore": {"subjects", "internal/bus"},
		"internal/archive/progress":    {"kv", "subjects"},
		"generator":                    pool,
		"invoker":                      append([]string{"internal/workflows"}, pool...),
		"backfiller":                   pool,
		"matching":                     {"schedule", "subjects", "internal/bus", "internal/call", "internal/deadletter", "internal/flood", "internal/metrics", "internal/offer", "internal/owners"},
		"frontend": append([]string{"frontend/internal/batch", "frontend/internal/calendars", "frontend/internal/request", "frontend/internal/schedules",
			"frontend/internal/visibility", "internal/taskqueue", "internal/jobs", "internal/natsstats", "internal/owners", "internal/search", "internal/site", "internal/workflows"}, pool...),
		"gateway/internal/roster": {"subjects", "internal/flood"},
		"gateway": {"internal/callers", "gateway/internal/roster", "client", "execution", "kv", "schedule", "subjects", "internal/attributes", "internal/bus", "internal/call", "internal/flood", "internal/metrics",
			"internal/namespaces", "internal/offer", "internal/owners", "internal/scheduleproto", "internal/search/query", "internal/site", "internal/telemetry", "internal/webserver"},
		"frontend/internal/schedules": append([]string{"frontend/internal/bulk", "frontend/internal/calendars",
			"frontend/internal/listing", "frontend/internal/registry", "frontend/internal/request",
			"internal/taskqueue", "internal/jobs", "internal/search", "internal/search/query"}, pool...),
		"frontend/internal/batch": {"frontend/internal/listing", "frontend/internal/request", "schedule",
			"internal/jobs", "internal/search", "internal/search/query", "internal/workflows"},
		"frontend/internal/bulk": {"frontend/internal/listing", "frontend/internal/request", "schedule", "subjects",
			"internal/events", "internal/jobs", "internal/search/query"},
		"frontend/internal/calendars": {"frontend/internal/listing", "frontend/internal/request", "schedule", "subjects", "kv",
			"internal/apitext", "internal/jobs", "internal/wire"},
		"frontend/internal/limits":  {"schedule"},
		"frontend/internal/listing": {"schedule", "kv"},
		"frontend/internal/registry": {"frontend/internal/limits", "frontend/internal/listing", "frontend/internal/request",
			"schedule", "subjects", "kv", "internal/apitext", "internal/bus", "internal/jobs", "internal/metrics",
			"internal/namespaces", "internal/sleep", "internal/task", "internal/taskqueue"},
		"frontend/internal/visibility": {"frontend/internal/batch", "schedule", "subjects", "internal/bus", "internal/call", "internal/codec", "internal/search", "internal/search/query", "internal/site"},
		"frontend/internal/request":    {"schedule", "kv", "internal/telemetry"},

		"console":                  {"console/internal/access", "console/internal/pages", "console/internal/rest", "console/internal/segment", "console/internal/speaker", "client", "frontend", "schedule", "subjects", "internal/callers", "internal/loopback", "internal/site", "internal/webserver"},
		"console/internal/access":  {"console/internal/refusal", "schedule", "internal/callers"},
		"console/internal/refusal": {"schedule"},
		"console/internal/speaker": {"client", "internal/callers", "subjects"},
		"console/internal/pages": {"console/internal/readable", "console/internal/refusal", "console/internal/segment", "console/internal/speaker", "execution", "schedule", "specproc/prose", "subjects",
			"internal/apitext", "internal/audit", "internal/deadletter", "internal/diagnosis", "internal/ical", "internal/importer", "internal/importer/crontab",
			"internal/search/query", "internal/site", "internal/taskqueue"},
		"console/internal/rest": {"console/internal/refusal", "console/internal/segment", "client", "frontend", "schedule", "subjects"},

		"console/internal/readable": {"internal/jsontext", "internal/payload"},

		"client": {"schedule", "subjects", "internal/telemetry", "internal/apitext"},
		"worker": {"schedule", "subjects", "internal/telemetry", "internal/deadletter", "internal/flood", "internal/metrics",
			"internal/workerbus"},

		"internal/attributes": {},
		"internal/bus":        {"subjects"},
		"internal/callers":    {"client", "schedule", "subjects", "internal/bus", "internal/flood"},
		"internal/call":       {"schedule", "internal/bus", "internal/flood", "internal/telemetry"},
		"internal/cache":      {"schedule", "specproc", "kv", "internal/wire"},
		"internal/diagnosis": {"subjects", "kv", "internal/archive/progress", "internal/bus", "internal/namespaces", "internal/taskqueue", "internal/topology", "internal/streamwatch",
			"internal/presence", "internal/site"},
		"internal/heap":              {},
		"internal/ical":              {"schedule"},
		"internal/importer":          {"schedule", "internal/apitext"},
		"internal/importer/cronjob":  {"schedule", "specproc", "internal/importer", "internal/yamltext", "internal/apitext"},
		"internal/importer/temporal": {"schedule", "internal/importer", "internal/apitext", "internal/payload"},
		"internal/importer/crontab":  {"schedule", "internal/importer", "worker/builtin", "internal/apitext"},
		"internal/jobs":              {"schedule", "kv", "internal/metrics", "subjects"},
		"internal/metrics":           {"schedule", "subjects"},
		"internal/natsstats":         {"subjects", "internal/metrics"},
		"internal/backlog":           {"execution", "internal/offer", "schedule", "subjects"},
		"internal/offer":             {"subjects", "internal/bus", "internal/codec", "internal/metrics", "internal/presence"},
		"internal/owners":            {"schedule", "subjects", "internal/bus", "internal/call", "internal/metrics"},
		"internal/payload":           {"internal/jsontext"},
		"internal/pool": {"subjects", "kv", "internal/bus", "internal/cache", "internal/codec", "internal/loop", "internal/namespaces",
			"internal/wire"},
		"internal/presence":      {"subjects", "internal/bus", "internal/zonedata"},
		"internal/probe":         {},
		"internal/scheduleproto": {"schedule", "internal/jsontext", "internal/search/query", "internal/wire", "internal/workflows"},
		"internal/search":        {"execution", "internal/attributes", "schedule", "subjects", "kv", "internal/bus", "internal/metrics", "internal/payload", "internal/search/query", "internal/codec", "internal/wire"},
		"internal/search/query":  {"schedule", "internal/attributes", "internal/suggest"},
		"internal/task":          {"schedule", "internal/codec", "internal/metrics", "internal/telemetry", "internal/wire", "subjects"},
		"internal/workerbus":     {"internal/bus"},
		"internal/workflows": {"schedule", "subjects", "internal/call", "internal/codec", "internal/jsontext", "internal/owners", "internal/payload",
			"internal/telemetry", "internal/wire"},
		"internal/yamltext": {},
		"internal/zonedata": {},
		"worker/workertest": {"schedule", "worker"},
	}
	imports := listImports(t, "Imports")
	for name, may := range allowed {
		require.Contains(t, imports, name)
		for _, imported := range imports[name] {
			if ours, ok := strings.CutPrefix(imported, module); ok && ours != "internal/sleep" {
				assert.Contains(t, may, ours, "%s must not import it", name)
			}
		}
	}
}

// TestNothingIsBuiltOnTheCommandLine: only the binary imports the command line, and only it and the benchmarks compose roles.
func TestNothingIsBuiltOnTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, imported := range listImports(t, "Imports") {
		onTop := name == "cmd/carillon" || name == "internal/cli" || strings.HasPrefix(name, "internal/cli/")
		for _, path := range imported {
			path = strings.TrimPrefix(path, module) + "/"
			if strings.HasPrefix(path, "internal/cli/") {
				assert.True(t, onTop, "%s must not import %s", name, path)
			}
			if path == "internal/roles/" {
				assert.True(t, onTop || name == "internal/bench", "%s must not import it", name)
			}
		}
	}
}

// TestOnlySubjectsSpellsNames: code that needs a subject or a key asks package subjects. There are two exceptions: the
// simulation looks at names as a stranger would, and the benchmark makes its own streams and accounts.
func TestOnlySubjectsSpellsNames(t *testing.T) {
	t.Parallel()
	spelled := regexp.MustCompile(`\.Prefix\(\) *\+|"\$(JS\.ACK|KV)\.`)
	seen := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		switch name := filepath.ToSlash(strings.TrimPrefix(path, "../../")); {
		case strings.HasPrefix(name, "subjects/"), strings.HasPrefix(name, "internal/simulation/"), strings.HasPrefix(name, "internal/bench/"):
			return nil
		}
		seen++
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			assert.False(t, spelled.MatchString(line), "%s:%d spells a name", path, i+1)
		}
		return err
	}))
	assert.Greater(t, seen, 300)
}

// TestZonesAreOurs keeps time zones of the host out: all code loads them by schedule.LoadZone, and none brings the data of Go.
func TestZonesAreOurs(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	forbidden := []string{"time.Load" + "Location(", `"time/tz` + `data"`}
	seen := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		seen++
		content, err := os.ReadFile(path)
		for _, text := range forbidden {
			assert.NotContains(t, string(content), text, path)
		}
		return err
	})
	require.NoError(t, err)
	assert.Greater(t, seen, 500)
}

// TestServerErrorCodesHaveOneHome: only package bus spells error codes of the JetStream API. The simulation has its own codes,
// because the model must not follow the product.
func TestServerErrorCodesHaveOneHome(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	spelled := regexp.MustCompile(`ErrorCode(\(|:|\s*[!=]?=)\s*[1-9]`)
	require.Regexp(t, spelled, "const code jetstream.ErrorCode = 10005")
	homes := []string{filepath.Join(root, "internal", "bus"), filepath.Join(root, "internal", "simulation")}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || slices.Contains(homes, path) {
			return cmp.Or(err, fs.SkipDir)
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		content, err := os.ReadFile(path)
		assert.NotRegexp(t, spelled, string(content), path)
		return err
	}))
}

// TestLibrariesAreLight keeps out of other people's programs what only our processes need.
func TestLibrariesAreLight(t *testing.T) {
	t.Parallel()
	deps := listImports(t, "Deps")
	for _, library := range []string{"schedule", "specproc", "specproc/prose", "client", "worker", "worker/builtin"} {
		for _, heavy := range []string{
			"github.com/nats-io/nats-server/v2/server", "go.opentelemetry.io/otel/sdk/trace", "github.com/spf13/cobra",
			"go.opentelemetry.io/otel/sdk/metric", "github.com/prometheus/client_golang/prometheus", "google.golang.org/grpc",
			"github.com/stretchr/testify/require", "testing",
		} {
			assert.False(t, slices.Contains(deps[library], heavy), "%s depends on %s", library, heavy)
		}
	}
	for _, pure := range []string{"schedule", "specproc", "specproc/prose"} {
		assert.False(t, slices.Contains(deps[pure], "github.com/nats-io/nats.go"), "%s depends on NATS", pure)
	}
}

// TestToolsAreNoDependencies keeps linters out of go.mod, which everyone sees who imports a library of ours: they are in
// .ci/tools.
func TestToolsAreNoDependencies(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)
	assert.NotRegexp(t, `(?m)^tool\b|golang.org/x/tools`, string(text))
}

// TestPropertiesHaveFixedSeeds: every run of the tests tries the same examples.
func TestPropertiesHaveFixedSeeds(t *testing.T) {
	t.Parallel()
	inside, outside := listImports(t, "TestImports"), listImports(t, "XTestImports")
	properties := 0
	for name := range inside {
		imported := slices.Concat(inside[name], outside[name])
		if !slices.Contains(imported, "pgregory.net/rapid") || name == "internal/fixedseed" {
			continue
		}
		properties++
		assert.Contains(t, imported, module+"internal/fixedseed", "%s has properties whose seed is random", name)
	}
	assert.Greater(t, properties, 20)
}

// TestRandomnessIsSeeded: tests draw from sources with a seed, never from the one of the process.
func TestRandomnessIsSeeded(t *testing.T) {
	t.Parallel()
	global := regexp.MustCompile(`\brand\.(N|Int|IntN|Int32|Int32N|Int64|Int64N|Uint|Uint32|Uint64|Uint64N|UintN|Float32|Float64|` +
		`NormFloat64|ExpFloat64|Perm|Shuffle)\(|\brand\.N\[`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			assert.False(t, global.MatchString(line), "%s:%d draws from a source without a seed", path, i+1)
		}
		return err
	}))
}

// listImports returns a list of go list for each package of the module, by its path below the module.
func listImports(t *testing.T, list string) map[string][]string {
	t.Helper()
	if testing.Short() {
		t.Skip("reads the source of all packages")
	}
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .`+list+` " "}}`, module+"...")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, problems.String())
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		all[strings.TrimPrefix(fields[0], module)] = fields[1:]
	}
	return all
}
