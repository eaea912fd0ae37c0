package gateway_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
)

// untyped are search attributes as an SDK sends those whose type it does not know: without one.
func untyped(all map[string]string) *common.SearchAttributes {
	fields := map[string]*common.Payload{}
	for name, value := range all {
		fields[name] = &common.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(value)}
	}
	return &common.SearchAttributes{IndexedFields: fields}
}

// plain are search attributes as Carillon's own API has them.
func plain(all map[string]string) map[string]json.RawMessage {
	texts := map[string]json.RawMessage{}
	for name, value := range all {
		texts[name] = json.RawMessage(value)
	}
	return texts
}

// typesOf returns which type each value says it has.
func typesOf(all *common.SearchAttributes) map[string]string {
	kinds := map[string]string{}
	for name, value := range all.GetIndexedFields() {
		kinds[name] = string(value.Metadata["type"])
	}
	return kinds
}

// TestScheduleAttributesHaveTheirType: the attributes of a schedule, and of the workflows that it starts, are those of the namespace, as if a client
// had started the workflow.
func TestScheduleAttributesHaveTheirType(t *testing.T) {
	t.Parallel()
	in := install(t)
	require.NoError(t, in.addAttributes(types{"City": enums.INDEXED_VALUE_TYPE_KEYWORD, "Count": enums.INDEXED_VALUE_TYPE_INT}))
	city, count, wrong := untyped(map[string]string{"City": `"Bern"`}), untyped(map[string]string{"Count": "5"}), untyped(map[string]string{"Count": `"five"`})
	create := &workflowservice.CreateScheduleRequest{Namespace: "default", ScheduleId: "s", Schedule: hourly(), SearchAttributes: city}
	create.Schedule.Action.GetStartWorkflow().SearchAttributes = count
	_, err := in.CreateSchedule(t.Context(), create)
	require.NoError(t, err)
	shows := func(own, ofAction map[string]string) {
		t.Helper()
		d := in.describeSchedule("s")
		assert.Equal(t, own, typesOf(d.SearchAttributes))
		assert.Equal(t, ofAction, typesOf(d.Schedule.Action.GetStartWorkflow().SearchAttributes))
	}
	shows(map[string]string{"City": "Keyword"}, map[string]string{"Count": "Int"})
	stored, err := in.carillon().Describe(t.Context(), "s")
	require.NoError(t, err)
	started, problem := workflows.Fields(stored.Schedule.Action.SearchAttributes)
	require.Nil(t, problem)
	assert.Equal(t, map[string]string{"Count": "Int"}, typesOf(&common.SearchAttributes{IndexedFields: started}), "the workflows are started with it")
	page, err := in.ListSchedules(t.Context(), &workflowservice.ListSchedulesRequest{Namespace: "default"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"City": "Keyword"}, typesOf(page.Schedules[0].SearchAttributes))

	update := &workflowservice.UpdateScheduleRequest{
		Namespace: "default", ScheduleId: "s", Schedule: hourly(), SearchAttributes: untyped(map[string]string{"Count": "6", "Other": "true"}),
	}
	update.Schedule.Action.GetStartWorkflow().SearchAttributes = untyped(map[string]string{"City": `"Basel"`})
	_, err = in.UpdateSchedule(t.Context(), update)
	require.NoError(t, err)
	shows(map[string]string{"Count": "Int", "Other": ""}, map[string]string{"City": "Keyword"})

	for _, place := range []func(own, ofAction **common.SearchAttributes){
		func(own, _ **common.SearchAttributes) { *own = wrong }, func(_, ofAction **common.SearchAttributes) { *ofAction = wrong },
	} {
		place(&create.SearchAttributes, &create.Schedule.Action.GetStartWorkflow().SearchAttributes)
		place(&update.SearchAttributes, &update.Schedule.Action.GetStartWorkflow().SearchAttributes)
		var invalid *serviceerror.InvalidArgument
		_, err = in.CreateSchedule(t.Context(), create)
		require.ErrorAs(t, err, &invalid)
		assert.ErrorContains(t, err, `invalid value for search attribute Count of type Int: "five"`)
		_, err = in.UpdateSchedule(t.Context(), update)
		require.ErrorAs(t, err, &invalid)
		create.SearchAttributes, update.SearchAttributes = nil, nil
	}
	shows(map[string]string{"Count": "Int", "Other": ""}, map[string]string{"City": "Keyword"})
}

// TestTypesOfPlainAttributes: what was stored without types, by Carillon's own API or before somebody added the attribute, is shown with them.
func TestTypesOfPlainAttributes(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, err := in.carillon().Create(t.Context(), schedule.CreateRequest{ID: "s", Schedule: schedule.Schedule{
		Spec: schedule.Spec{Cron: []string{"0 * * * *"}}, SearchAttributes: plain(map[string]string{"City": `"Bern"`, "Count": `"five"`}),
		Action: schedule.Action{Kind: schedule.ActionWorkflow, Type: "Report", TaskQueue: "reports", SearchAttributes: plain(map[string]string{"Count": "5"})},
	}})
	require.NoError(t, err)
	shown := func() []map[string]string {
		d := in.describeSchedule("s")
		page, err := in.ListSchedules(t.Context(), &workflowservice.ListSchedulesRequest{Namespace: "default"})
		require.NoError(t, err)
		return []map[string]string{
			typesOf(d.SearchAttributes), typesOf(d.Schedule.Action.GetStartWorkflow().SearchAttributes), typesOf(page.Schedules[0].SearchAttributes),
		}
	}
	own := map[string]string{"City": "", "Count": ""}
	assert.Equal(t, []map[string]string{own, {"Count": ""}, own}, shown(), "nobody has said what they are")
	require.NoError(t, in.addAttributes(types{"City": enums.INDEXED_VALUE_TYPE_KEYWORD, "Count": enums.INDEXED_VALUE_TYPE_INT}))
	own = map[string]string{"City": "Keyword", "Count": ""}
	assert.Equal(t, []map[string]string{own, {"Count": "Int"}, own}, shown(), "a value that does not fit has no type")
}
