package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChangesShowWarnings: what spec next warns of is said by the commands that store the spec as well, and not on stdout.
func TestChangesShowWarnings(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir(), "--no-worker")
	c := cli{t, url}
	for _, test := range []struct{ args, want []string }{
		{[]string{"create", "plain", "--every", "1h", "--type", "noop"}, nil},
		{[]string{"create", "six", "--cron", "0 9 1 * * *", "--type", "noop"}, []string{"has six fields"}},
		{[]string{"create", "days", "--cron", "0 9 * * 1", "--type", "noop", "--quiet"}, nil},
		{[]string{"update", "plain", "--cron", "0 9 1 * * *"}, []string{"has six fields"}},
		{[]string{"update", "plain", "--every", "1h"}, nil},
	} {
		code, stdout, stderr := c.run(test.args...)
		require.Equal(t, ExitOK, code, stderr)
		assert.NotContains(t, stdout, "warning")
		if test.want == nil {
			assert.Empty(t, stderr, "%v", test.args)
			continue
		}
		assert.Regexp(t, `^warning: cron\[0\]: `, stderr, "%v", test.args)
		for _, want := range test.want {
			assert.Contains(t, stderr, want, "%v", test.args)
		}
	}
	server.stopped(t)
}
