package archive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	sdkclient "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// TestEntryNames: a name says what it was made of, with tokens instead of texts, and is fit for every store.
func TestEntryNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		n := archive.EntryName{
			Namespace: "default", Type: rapid.String().Draw(r, "type"), WorkflowID: rapid.String().Draw(r, "id"), RunID: rapid.String().Draw(r, "run"),
			End: time.Unix(rapid.Int64Range(0, 4e9).Draw(r, "s"), rapid.Int64Range(0, 999_999_999).Draw(r, "ns")),
		}
		n.RunID = strings.ReplaceAll(n.RunID, "_", "-") // run IDs are UUIDs
		object := n.Object()
		got, ok := archive.ParseEntryName(object)
		require.True(r, ok, object)
		require.Equal(r, archive.EntryName{
			Namespace: "default", Type: archive.Token(n.Type), WorkflowID: archive.Token(n.WorkflowID), RunID: archive.Token(n.RunID), End: n.End.UTC(),
		}, got)
		require.True(r, strings.HasPrefix(object, archive.EntriesPrefix(
			"default", n.End.UTC().Format(time.DateOnly), archive.Token(n.Type), n.End.UTC().Format("15"))), object)
		for part := range strings.SplitSeq(object, "/") {
			require.LessOrEqual(r, len(part), 255)
			require.NotEmpty(r, part)
		}
	})
	for _, wrong := range []string{"", "a", "default/executions/2026-11-28/T/10/x.json", "default/histories/w/r.json",
		"default/executions/2026-11-27/T/10/20261128T100000.000000000Z_w_r.json", "default/executions/2026-11-28/T/11/20261128T100000.000000000Z_w_r.json",
		"default/executions/2026-11-28/T/20261128T100000.000000000Z_w_r.json", "default/executions/2026-11-28/T/10/20261128T100000.000000000Z_w_r"} {
		_, ok := archive.ParseEntryName(wrong)
		assert.False(t, ok, wrong)
	}
}

// TestTokens: texts that differ have tokens that differ, also if they are long.
func TestTokens(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 600)
	assert.Equal(t, "order-17", archive.Token("order-17"))
	assert.Equal(t, "a=2F=2E=2E", archive.Token("a/.."))
	assert.Equal(t, "=", archive.Token(""))
	assert.NotEqual(t, archive.Token(long), archive.Token(long+"b"))
	assert.Len(t, archive.Token(long), 100)
}

// closed is an execution that has ended.
func closed() (*workflowpb.WorkflowExecutionInfo, []*historypb.HistoryEvent) {
	end := time.Date(2026, 11, 28, 10, 0, 0, 5, time.UTC)
	events := []*historypb.HistoryEvent{
		{EventId: 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				WorkflowType: &commonpb.WorkflowType{Name: "Order"},
				Input:        &commonpb.Payloads{Payloads: []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"x"`)}}},
			}}},
		{EventId: 2, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, EventTime: timestamppb.New(end)},
	}
	return &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "w", RunId: "r"}, Type: &commonpb.WorkflowType{Name: "Order"}, HistoryLength: 2,
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, CloseTime: timestamppb.New(end),
		Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{"a": {Data: []byte("1")}, "b": {Data: []byte("2")}}},
	}, events
}

// TestEncode: what is archived is read back, the SDK reads the history, and equal executions have equal texts.
func TestEncode(t *testing.T) {
	t.Parallel()
	info, events := closed()
	a, err := archive.Encode("default", info, events)
	require.NoError(t, err)
	again, err := archive.Encode("default", proto.CloneOf(info), events)
	require.NoError(t, err)
	require.Equal(t, a, again)
	require.Equal(t, "default/executions/2026-11-28/Order/10/20261128T100000.000000005Z_w_r.json", a.Object)
	require.Equal(t, "default/histories/w/r_20261128T100000.000000005Z.json", a.Entry.History)
	entry, err := archive.ParseEntry(a.Index)
	require.NoError(t, err)
	require.True(t, proto.Equal(info, entry.Execution))
	require.Equal(t, archive.Digest(a.History), entry.SHA256)
	history, err := archive.ParseHistory(a.History)
	require.NoError(t, err)
	require.True(t, proto.Equal(&historypb.History{Events: events}, history))
	read, err := sdkclient.HistoryFromJSON(strings.NewReader(string(a.History)), sdkclient.HistoryJSONOptions{})
	require.NoError(t, err)
	require.True(t, proto.Equal(history, read))
}

// TestIncomplete: a history that is not whole is not encoded.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	info, events := closed()
	_, err := archive.Encode("default", info, events[:1])
	require.ErrorIs(t, err, archive.ErrIncomplete)
	_, err = archive.Encode("default", info, []*historypb.HistoryEvent{events[1], events[0]})
	require.ErrorIs(t, err, archive.ErrIncomplete)
	info.CloseTime = nil
	_, err = archive.Encode("default", info, events)
	require.ErrorIs(t, err, archive.ErrIncomplete)
}

// open opens each kind of bucket.
func open(t *testing.T) map[string]*archive.Bucket {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t).ClientURL())
	store := archive.Store{JS: js, Bus: natstest.Bus(t, js), Names: natstest.Names(t), Replicas: 1}
	all := map[string]*archive.Bucket{}
	for kind, address := range map[string]string{
		"own": "jetstream://", "other": "jetstream://" + natstest.Names(t).ArchiveBucket() + "-2", "folder": "file://" + filepath.ToSlash(t.TempDir()),
	} {
		opened, err := store.Open(t.Context(), address)
		require.NoError(t, err, kind)
		t.Cleanup(func() { _ = opened.Close() })
		all[kind] = opened
	}
	return all
}

// TestBuckets: in each kind of bucket, what is saved is found and verified, and damage is noticed.
func TestBuckets(t *testing.T) {
	t.Parallel()
	info, events := closed()
	a, err := archive.Encode("default", info, events)
	require.NoError(t, err)
	for kind, in := range open(t) {
		days, err := in.Days(t.Context(), "default")
		require.NoError(t, err, kind)
		require.Empty(t, days)
		require.NoError(t, in.Save(t.Context(), a), kind)
		require.NoError(t, in.Save(t.Context(), a), kind)
		next := proto.Clone(info).(*workflowpb.WorkflowExecutionInfo)
		next.CloseTime = timestamppb.New(info.CloseTime.AsTime().AddDate(0, 0, 1))
		later, err := archive.Encode("default", next, events)
		require.NoError(t, err)
		require.NoError(t, in.Save(t.Context(), later), kind)
		days, err = in.Days(t.Context(), "default")
		require.NoError(t, err)
		require.Equal(t, []string{"2026-11-29", "2026-11-28"}, days, kind)
		entry, err := in.Entry(t.Context(), a.Object)
		require.NoError(t, err)
		require.NoError(t, in.Verify(t.Context(), entry))
		require.NoError(t, in.WriteAll(t.Context(), a.Entry.History, a.History[1:], nil))
		require.ErrorIs(t, in.Verify(t.Context(), entry), archive.ErrDiffers, kind)
		require.NoError(t, in.Delete(t.Context(), a.Entry.History))
		require.ErrorIs(t, in.Verify(t.Context(), entry), archive.ErrNotFound, kind)
	}
}

// TestNoBucket: a URL that names no bucket is refused, and so is a folder that does not exist.
func TestNoBucket(t *testing.T) {
	t.Parallel()
	store := archive.Store{}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, address := range []string{"", "mem://", "ftp://a", "file://host/a", "file:a", "file://" + filepath.ToSlash(file), "%", "file://" + filepath.ToSlash(t.TempDir()) + "/none"} {
		_, err := store.Open(t.Context(), address)
		require.Error(t, err, address)
	}
}

// TestLatestRun: of a workflow ID without a run, the history of the run is found that ended last, whenever it was written.
func TestLatestRun(t *testing.T) {
	t.Parallel()
	info, events := closed()
	begin := info.CloseTime.AsTime()
	for kind, in := range open(t) {
		names := map[string]string{}
		for _, hours := range []int{3, 1, 2} {
			one := proto.Clone(info).(*workflowpb.WorkflowExecutionInfo)
			one.Execution.WorkflowId, one.Execution.RunId = "w", strings.Repeat("r_", hours)
			one.CloseTime = timestamppb.New(begin.Add(time.Duration(hours) * time.Hour))
			a, err := archive.Encode("default", one, events)
			require.NoError(t, err)
			require.NoError(t, in.Save(t.Context(), a), kind)
			names[one.Execution.RunId] = a.Entry.History
		}
		name, id, err := in.FindHistory(t.Context(), "default", "w", "")
		require.NoError(t, err)
		require.Equal(t, names["r_r_r_"], name, kind)
		require.Equal(t, "r_r_r_", id)
		for runID, want := range names {
			name, id, err = in.FindHistory(t.Context(), "default", "w", runID)
			require.NoError(t, err)
			require.Equal(t, want, name, kind)
			require.Equal(t, runID, id)
		}
		for _, ids := range [][2]string{{"w", "r"}, {"v", ""}, {"", ""}} {
			_, _, err = in.FindHistory(t.Context(), "default", ids[0], ids[1])
			require.ErrorIs(t, err, archive.ErrNotFound)
		}
	}
}

// TestLeftovers: the names of parts of events have a day and a number. What a process leaves that dies while it writes one is not read, nor is anything else there.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	for kind, in := range open(t) {
		events, data, err := archive.EncodeEvents("default", "a_b/c", "2026-11-28", 7, []archive.Event{{ScheduleID: "a_b/c", JSON: []byte("{}")}})
		require.NoError(t, err)
		require.Equal(t, "default/schedules/a_b=2Fc/2026-11-28_00000000000000000007.json", events.Object)
		require.NoError(t, in.Put(t.Context(), events.Object, data))
		require.NoError(t, in.SaveEventIndex(t.Context(), "default", "2026-11-28", 7, []archive.Events{events}))
		index := "default/schedule-days/2026-11-28/00000000000000000007.json"
		for _, name := range []string{events.Object, index} {
			number := strings.LastIndex(name, "7.json")
			for _, other := range []string{
				name + ".187c2f0a1b2c3d4e.tmp", name + ".tmp", name[:number] + "8", name[:number] + "x.json", name[:number] + "08.json", name[:number-1] + "8.json",
				strings.ReplaceAll(name, "2026-11-28", "2026-11-28a"),
			} {
				require.NoError(t, in.Put(t.Context(), other, []byte(`{"eve`)))
			}
		}
		for _, day := range []string{"", "2026-11-28"} {
			names, err := in.EventIndexes(t.Context(), "default", day)
			require.NoError(t, err)
			require.Equal(t, []string{index}, names, kind)
			names, err = in.EventObjects(t.Context(), "default", "a_b/c", day)
			require.NoError(t, err)
			require.Equal(t, []string{events.Object}, names, kind)
		}
	}
}
