package schedule

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// IDs are what the uuid library makes of their parts, however long these are.
func TestIDsAreDerived(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.String(), rapid.Map(rapid.IntRange(0, 600), func(n int) string { return strings.Repeat("ä", n) }))
		source, namespace, id, incarnation := part.Draw(t, "source"), part.Draw(t, "namespace"), part.Draw(t, "id"), part.Draw(t, "incarnation")
		version := rapid.Uint64().Draw(t, "version")
		nominal, actual := anyTime(t), anyTime(t)

		var name []byte
		for _, part := range []string{namespace, id, incarnation} {
			name = append(binary.AppendUvarint(name, uint64(len(part))), part...)
		}
		name = binary.BigEndian.AppendUint64(name, version)
		name = binary.BigEndian.AppendUint64(name, uint64(nominal.UnixMilli()))
		name = binary.BigEndian.AppendUint64(name, uint64(actual.UnixMilli()))
		want := "sched-" + source + "-" + uuid.NewSHA1(idSpace, name).String()
		require.Equal(t, want, RequestID(source, namespace, id, incarnation, version, nominal, actual))
		require.Equal(t, uuid.NewSHA1(idSpace, []byte(want)).String(), RunID(want))
		local := nominal.In(time.FixedZone("", 7200))
		require.Equal(t, id+"-"+nominal.UTC().Format("2006-01-02T15:04:05.999999999Z07:00"), WorkflowID(id, local, false))
	})
}

// TestTriggersOfAMillisecond: an answer comes faster than that, and the next trigger of the same client with it.
func TestTriggersOfAMillisecond(t *testing.T) {
	t.Parallel()
	d := Definition{Namespace: "default", ID: "a"}
	at := time.Date(2026, 3, 1, 2, 0, 0, 397e6, time.UTC)
	first := NewStart(&d, "trigger-1", at, at)
	second := NewStart(&d, "trigger-2", at.Add(time.Microsecond), at.Add(time.Microsecond))
	require.Equal(t, "a-2026-03-01T02:00:00.397Z", first.WorkflowID)
	require.Equal(t, "a-2026-03-01T02:00:00.397001Z", second.WorkflowID)
	require.NotEqual(t, first.RequestID, second.RequestID)
}
