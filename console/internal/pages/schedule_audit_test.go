package pages

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/audit"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestAuditGoesOn: where an audit has more times than a page goes through, the page leads to the next part, even in the hour that comes twice.
func TestAuditGoesOn(t *testing.T) {
	t.Parallel()
	zone, err := schedule.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	next := time.Date(2026, 10, 25, 1, 30, 0, 1, time.UTC) // 2:30 for the second time
	page := &auditing{scheduleHead: headOf("n", "s", zone.String(), "audit"), From: "2026-10-01T00:00", To: "2026-11-01T00:00", zone: zone}
	list := &fateList{now: noon, zone: zone}
	shown := page.result(&audit.Report{Next: next}, list)
	address, err := url.Parse(shown.Next)
	require.NoError(t, err)
	from, to, err := rangeFields(address.Query().Get("from"), address.Query().Get("to"), zone)
	require.NoError(t, err)
	assert.True(t, next.Equal(from))
	assert.Equal(t, time.Date(2026, 11, 1, 0, 0, 0, 0, zone), to)
	assert.Equal(t, "2026-10-25T02:30:00", page.InForm(address.Query().Get("from")))
	assert.Equal(t, "2026-10-01T00:00", page.InForm(page.From))

	assert.Empty(t, page.result(&audit.Report{}, list).Next)
}
