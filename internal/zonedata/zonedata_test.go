package zonedata_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

// newest is the version that the binary must carry. Change it together with zones.zip.
const newest = "2026f"

func TestVersion(t *testing.T) {
	t.Parallel()
	assert.Equal(t, newest, zonedata.Embedded().Version(), "run go generate ./internal/zonedata")
	assert.Empty(t, zonedata.Embedded().Source())
	assert.Same(t, zonedata.Embedded(), zonedata.Current())
}

// TestRules has recent changes, and years far away, for which zones hold a rule and no table.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		zone, at string
		offset   time.Duration
	}{
		{"America/Vancouver", "2026-02-01T12:00:00Z", -8 * time.Hour},
		{"America/Vancouver", "2026-12-01T12:00:00Z", -7 * time.Hour},
		{"America/Edmonton", "2026-12-01T12:00:00Z", -6 * time.Hour},
		{"America/Yellowknife", "2026-12-01T12:00:00Z", -6 * time.Hour},
		{"America/Winnipeg", "2026-12-01T12:00:00Z", -5 * time.Hour},
		{"America/Havana", "2026-12-01T12:00:00Z", -4 * time.Hour},
		{"Africa/Casablanca", "2026-08-01T12:00:00Z", time.Hour},
		{"Africa/Casablanca", "2026-12-01T12:00:00Z", 0},
		{"Africa/Casablanca", "2099-12-01T12:00:00Z", 0},
		{"America/Ojinaga", "2022-10-31T12:00:00Z", -6 * time.Hour}, // between the end of a table and a change of its rule
		{"Asia/Gaza", "2073-09-15T12:00:00Z", 2 * time.Hour},        // clocks go back for Ramadan
		{"Europe/Berlin", "2026-07-01T12:00:00Z", 2 * time.Hour},
		{"Europe/Berlin", "2100-07-01T12:00:00Z", 2 * time.Hour},
		{"Europe/Berlin", "2100-12-01T12:00:00Z", time.Hour},
		{"Australia/Lord_Howe", "2099-01-01T12:00:00Z", 11 * time.Hour},
		{"America/New_York", "2100-07-01T12:00:00Z", -4 * time.Hour},
		{"Asia/Calcutta", "2026-01-01T12:00:00Z", 5*time.Hour + 30*time.Minute},
		{"US/Eastern", "2026-12-01T12:00:00Z", -5 * time.Hour},
		{"EST5EDT", "2026-07-01T12:00:00Z", -4 * time.Hour},
		{"Asia/Tehran", "2026-07-01T12:00:00Z", 3*time.Hour + 30*time.Minute},
	} {
		location, err := zonedata.Embedded().Load(test.zone)
		require.NoError(t, err, test.zone)
		at, err := time.Parse(time.RFC3339, test.at)
		require.NoError(t, err)
		_, offset := at.In(location).Zone()
		assert.Equal(t, test.offset, time.Duration(offset)*time.Second, "%s at %s", test.zone, test.at)
	}
}

// TestNames: names that schedules may already have stay valid. The list is from Go 1.26, which the binary carried before.
func TestNames(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/names.txt")
	require.NoError(t, err)
	names := strings.Fields(string(content))
	require.Greater(t, len(names), 590)
	for _, name := range names {
		_, err := zonedata.Embedded().Load(name)
		assert.NoError(t, err, name)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	data := zonedata.Embedded()
	for _, name := range []string{"", "UTC"} {
		utc, err := data.Load(name)
		require.NoError(t, err)
		assert.Same(t, time.UTC, utc)
	}
	one, err := data.Load("Europe/Berlin")
	require.NoError(t, err)
	again, err := data.Load("Europe/Berlin")
	require.NoError(t, err)
	assert.Same(t, one, again)
	for _, name := range []string{"Local", "europe/berlin", "Europe", "../zones", "Europe/../Europe/Berlin", zonedata.VersionEntry, "/"} {
		_, err := data.Load(name)
		assert.ErrorIs(t, err, zonedata.ErrUnknownZone, name)
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	data := zonedata.Embedded()
	berlin := data.Fingerprint("Europe/Berlin")
	assert.Len(t, berlin, 12)
	assert.Equal(t, berlin, data.Fingerprint("Arctic/Longyearbyen"), "another name of the same zone")
	assert.NotEqual(t, berlin, data.Fingerprint("Europe/Lisbon"))
	assert.NotEqual(t, data.Fingerprint("Etc/GMT+1"), data.Fingerprint("Etc/GMT+2"))
	assert.Empty(t, data.Fingerprint("UTC"))
	assert.Empty(t, data.Fingerprint("Nowhere"))
	assert.Len(t, data.Digest(), 12)
}
