package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// namespace runs a namespace command that must succeed, and returns what it prints.
func (c cli) namespace(args ...string) string {
	c.t.Helper()
	code, stdout, stderr := c.about("namespace", args...)
	require.Equal(c.t, ExitOK, code, "%q: %s", args, stderr)
	return stdout
}

// about runs a subcommand of a group.
func (c cli) about(group string, args ...string) (code int, stdout, stderr string) {
	c.t.Helper()
	p := &process{env: map[string]string{"CARILLON_NATS": c.nats, "CARILLON_IDENTITY": "ann@desk"}}
	code = p.run(c.t.Context(), append([]string{group}, args...)...)
	return code, p.stdout.String(), p.stderr.String()
}

func TestNamespaceEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	created := c.namespace("create", "billing", "--description", "invoices", "--max-schedules", "2", "--request-burst", "30",
		"--requests-per-second", "20", "--event-retention", "72h")
	for _, line := range []string{
		`Namespace    billing`, `State        active`, `Description  invoices`, `by ann@desk`, `Requests           20 a second, 30 at once`,
		`Actions            no limit`, `Schedules          2`, `Events             kept 3 days`,
	} {
		assert.Contains(t, created, line)
	}
	describe := func() schedule.NamespaceDescription {
		return document[schedule.NamespaceDescription](t, c.namespace("describe", "billing", "-o", "json"))
	}
	for _, id := range []string{"a", "b"} {
		c.inBilling(ExitOK, "", "create", id, "--every", "1h", "--type", "noop")
	}
	c.inBilling(ExitLimit, "limits.maxSchedules", "create", "c", "--every", "1h", "--type", "noop")
	assert.Equal(t, 2, describe().Info.Usage.Schedules)

	c.namespace("update", "billing", "--actions-per-second", "1.5", "--request-burst", "0", "-q")
	assert.Equal(t, schedule.NamespaceLimits{
		RequestsPerSecond: 20, ActionsPerSecond: 1.5, MaxSchedules: 2, EventRetention: schedule.Duration(72 * time.Hour),
	}, describe().Limits, "what no flag names stays")
	assert.Equal(t, "billing\ndefault\n", c.namespace("list", "-q"))
	assert.Regexp(t, `(?m)^billing  active  20 +1.5 +2 +- +3 days  invoices$`, c.namespace("list"))

	frozen := c.namespace("freeze", "billing", "--reason", "stocktaking", "--for", "2h")
	assert.Regexp(t, `State +frozen\nFrozen .* by ann@desk, until .*: stocktaking`, frozen)
	natstest.Eventually(t, patience, "a schedule says so", func() bool {
		code, stdout, _ := c.about("schedule", "describe", "a", "--namespace", "billing")
		return code == ExitOK && strings.Contains(stdout, "What holds it up\n  the namespace is frozen by ann@desk")
	})
	c.namespace("freeze", "billing", "--reason", "more", "--until", "+24h", "-q")
	assert.Equal(t, "more", describe().Freeze.Reason)
	assert.Contains(t, c.namespace("unfreeze", "billing"), "State        active")

	testNamespaceErrors(t, c)
	assert.Contains(t, c.namespace("delete", "billing", "--force", "--yes"), "billing is being deleted, with 2 schedules")
	assert.Equal(t, "deleted billing\n", c.namespace("delete", "billing", "--wait"))
	c.inBilling(ExitNotFound, `there is no namespace "billing"`, "list")
	server.stopped(t)
}

// inBilling runs a schedule command in the namespace billing.
func (c cli) inBilling(wantCode int, want string, args ...string) {
	c.t.Helper()
	code, _, stderr := c.about("schedule", append(args, "--namespace", "billing")...)
	assert.Equal(c.t, wantCode, code, "%q: %s", args, stderr)
	assert.Contains(c.t, stderr, want)
}

func testNamespaceErrors(t *testing.T, c cli) {
	t.Helper()
	for _, test := range []struct {
		code int
		want string
		args []string
	}{
		{ExitUsage, "NAME is missing", []string{"create"}},
		{ExitUsage, `"Billing" is not a name`, []string{"create", "Billing"}},
		{ExitUsage, "limits.eventRetention: 1s must be", []string{"create", "x", "--event-retention", "1s"}},
		{ExitConflict, "hint: look at it with: carillon namespace describe billing", []string{"create", "billing"}},
		{ExitNotFound, "hint: carillon namespace list shows", []string{"describe", "nobody"}},
		{ExitNotFound, "hint: carillon namespace list shows", []string{"delete", "nobody"}},
		{ExitUsage, "nothing to change", []string{"update", "billing"}},
		{ExitUsage, "--reason is missing", []string{"freeze", "billing"}},
		{ExitUsage, "--for: ", []string{"freeze", "billing", "--reason", "x", "--for", "soon"}},
		{ExitUsage, "until: ", []string{"freeze", "billing", "--reason", "x", "--until", "-1h"}},
		{ExitConflict, "--force deletes them as well", []string{"delete", "billing"}},
		{ExitUsage, "give --yes", []string{"delete", "billing", "--force"}},
		{ExitConflict, "every installation has it", []string{"delete", "default"}},
	} {
		code, _, stderr := c.about("namespace", test.args...)
		assert.Equal(t, test.code, code, "%q: %s", test.args, stderr)
		assert.Contains(t, stderr, test.want, "%q", test.args)
	}
}
