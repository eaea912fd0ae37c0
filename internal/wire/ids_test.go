package wire_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// IDs are what the uuid library makes of their parts, however long these are.
func TestIDsAreDerived(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.String(), rapid.Map(rapid.IntRange(0, 600), func(n int) string { return strings.Repeat("ä", n) }))
		source, namespace, id, incarnation := part.Draw(t, "source"), part.Draw(t, "namespace"), part.Draw(t, "id"), part.Draw(t, "incarnation")
		version := rapid.Uint64().Draw(t, "version")
		nominal, actual := scheduletest.AnyTime(t), scheduletest.AnyTime(t)

		var name []byte
		for _, part := range []string{namespace, id, incarnation} {
			name = append(binary.AppendUvarint(name, uint64(len(part))), part...)
		}
		name = binary.BigEndian.AppendUint64(name, version)
		name = binary.BigEndian.AppendUint64(name, uint64(nominal.UnixMilli()))
		name = binary.BigEndian.AppendUint64(name, uint64(actual.UnixMilli()))
		want := "sched-" + source + "-" + uuid.NewSHA1(wire.IDSpace, name).String()
		require.Equal(t, want, wire.RequestID(source, namespace, id, incarnation, version, nominal, actual))
		require.Equal(t, uuid.NewSHA1(wire.IDSpace, []byte(want)).String(), wire.RunID(want))
		local := nominal.In(time.FixedZone("", 7200))
		require.Equal(t, id+"-"+nominal.UTC().Format("2006-01-02T15:04:05.999999999Z07:00"), wire.WorkflowID(id, local, false))
	})
}

// TestTriggersOfAMillisecond: an answer comes faster than that, and the next trigger of the same client with it.
func TestTriggersOfAMillisecond(t *testing.T) {
	t.Parallel()
	d := wire.Definition{Namespace: "default", ID: "a"}
	at := time.Date(2026, 3, 1, 2, 0, 0, 397e6, time.UTC)
	first := wire.NewStart(&d, "trigger-1", at, at)
	second := wire.NewStart(&d, "trigger-2", at.Add(time.Microsecond), at.Add(time.Microsecond))
	require.Equal(t, "a-2026-03-01T02:00:00.397Z", first.WorkflowID)
	require.Equal(t, "a-2026-03-01T02:00:00.397001Z", second.WorkflowID)
	require.NotEqual(t, first.RequestID, second.RequestID)
}

// TestTriggerOfAWorkflow: its ID has whole seconds, as in Temporal. A trigger may name another time than that of its request; its span stays that
// of the request.
func TestTriggerOfAWorkflow(t *testing.T) {
	t.Parallel()
	d := wire.Definition{Namespace: "default", ID: "a", Incarnation: "i"}
	d.Schedule.Action.Kind = schedule.ActionWorkflow
	at := time.Date(2026, 3, 1, 2, 0, 0, 397e6, time.UTC)
	request := wire.BackfillState{Incarnation: "i", ID: "b", RequestTime: at, Trigger: &schedule.Trigger{}}
	start := request.TriggerHandOff(&d).Starts[0]
	require.Equal(t, "a-2026-03-01T02:00:00Z", start.WorkflowID)
	require.Equal(t, at, start.Nominal)

	request.Trigger.NominalTime = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	handOff := request.TriggerHandOff(&d)
	require.Equal(t, "a-2030-01-01T00:00:00Z", handOff.Starts[0].WorkflowID)
	require.Equal(t, request.Trigger.NominalTime, handOff.Starts[0].Actual)
	require.Equal(t, wire.Span{From: at.Add(-1), To: at}, handOff.Span)
}

func TestIDs(t *testing.T) {
	t.Parallel()
	nominal := time.Date(2030, 6, 1, 14, 0, 0, 0, time.FixedZone("", 7200))
	require.Equal(t, "nightly-2030-06-01T12:00:00Z", wire.WorkflowID("nightly", nominal, false))
	require.Equal(t, "nightly", wire.WorkflowID("nightly", nominal, true))

	// These values are stored by every installation: they must never change.
	id := wire.RequestID("auto", "default", "nightly", "i1", 3, nominal, nominal.Add(1500*time.Millisecond))
	require.Equal(t, "sched-auto-159e600f-546d-53fe-b254-b517d88a136f", id)
	require.Equal(t, "5881e563-5012-5ab4-abd1-d2e61592aa13", wire.RunID(id))

	others := []string{
		id,
		wire.RequestID("b1", "default", "nightly", "i1", 3, nominal, nominal),
		wire.RequestID("auto", "default", "nightly", "i1", 3, nominal, nominal),
		wire.RequestID("auto", "defaultn", "ightly", "i1", 3, nominal, nominal),
		wire.RequestID("auto", "default", "nightlyi", "1", 3, nominal, nominal),
		wire.RequestID("auto", "default", "nightly", "i1", 4, nominal, nominal),
		wire.RequestID("auto", "default", "nightly", "i1", 3, nominal.Add(time.Second), nominal),
	}
	slices.Sort(others)
	require.Len(t, slices.Compact(others), 7)
}
