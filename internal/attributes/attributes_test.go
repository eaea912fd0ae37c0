package attributes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/internal/attributes"
)

type types = map[string]enums.IndexedValueType

func payload(kind, data string) *common.Payload {
	p := &common.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(data)}
	if kind != "" {
		p.Metadata["type"] = []byte(kind)
	}
	return p
}

func check(name string, p *common.Payload, added types) error {
	return attributes.Complete(&common.SearchAttributes{IndexedFields: map[string]*common.Payload{name: p}}, func() (types, error) { return added, nil })
}

// TestValuesFitTypes: the type is that of the namespace, or else the one that the value claims.
func TestValuesFitTypes(t *testing.T) {
	t.Parallel()
	for _, kind := range []enums.IndexedValueType{
		enums.INDEXED_VALUE_TYPE_TEXT, enums.INDEXED_VALUE_TYPE_KEYWORD, enums.INDEXED_VALUE_TYPE_INT, enums.INDEXED_VALUE_TYPE_DOUBLE,
		enums.INDEXED_VALUE_TYPE_BOOL, enums.INDEXED_VALUE_TYPE_DATETIME, enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	} {
		for data, fit := range map[string]string{
			`"a"`: "Text Keyword KeywordList", `["a","b"]`: "Text Keyword KeywordList", `"2026-01-01T00:00:00.5+01:00"`: "Text Keyword KeywordList Datetime",
			`5`: "Int Double", `[5]`: "Int Double", `5.5`: "Double", `1e3`: "Double", `9007199254740993`: "Int Double", `true`: "Bool",
			`null`: "all", ``: "all", `[]`: "all", `{}`: "", `[null]`: "", `["a",5]`: "", `?`: "", `[["a"]]`: "",
		} {
			want := fit == "all" || strings.Contains(" "+fit+" ", " "+kind.String()+" ")
			for _, err := range []error{
				check("Own", payload("", data), types{"Own": kind}), check("Own", payload(kind.String(), data), nil),
			} {
				assert.Equal(t, want, err == nil, "%s as %s: %v", data, kind, err)
			}
		}
	}
	require.NoError(t, check("Own", payload("", `{}`), nil), "nobody says which type it has")
	err := check("Own", payload("Keyword", `"a"`), types{"Own": enums.INDEXED_VALUE_TYPE_INT})
	require.ErrorContains(t, err, `invalid value for search attribute Own of type Int: "a"`)
}

// TestTypesAreDeclared: the type of the namespace replaces whatever a value says, and the others stay as they are.
func TestTypesAreDeclared(t *testing.T) {
	t.Parallel()
	all := map[string]*common.Payload{
		"Remark": payload("", `"a"`), "Note": {Data: []byte(`"a"`)}, "City": payload("Keyword", `"a"`), "Own": payload("", "1"),
		"BuildIds": payload("", `["a"]`), "Gone": nil,
	}
	text := enums.INDEXED_VALUE_TYPE_TEXT
	require.NoError(t, attributes.Complete(&common.SearchAttributes{IndexedFields: all}, func() (types, error) {
		return types{"Remark": text, "Note": text, "City": text, "Gone": text}, nil
	}))
	got := map[string]string{}
	for name, p := range all {
		got[name] = string(p.GetMetadata()["type"])
	}
	assert.Equal(t, map[string]string{"Remark": "Text", "Note": "Text", "City": "Text", "Own": "", "BuildIds": "KeywordList", "Gone": ""}, got)
}

// TestDescribe: only a value without a type that is of the type of its attribute gets it, and nothing is read if there is no such value.
func TestDescribe(t *testing.T) {
	t.Parallel()
	all := &common.SearchAttributes{IndexedFields: map[string]*common.Payload{
		"City": payload("", `"a"`), "Note": payload("Keyword", `"a"`), "Count": payload("", `"five"`), "Own": payload("", "1"),
		"BuildIds": payload("", `["a"]`), "Gone": nil, "WorkflowId": payload("", `"a"`),
	}}
	require.NoError(t, attributes.Describe(all, func() (types, error) {
		return types{"City": enums.INDEXED_VALUE_TYPE_KEYWORD, "Note": enums.INDEXED_VALUE_TYPE_TEXT, "Count": enums.INDEXED_VALUE_TYPE_INT}, nil
	}))
	got := map[string]string{}
	for name, p := range all.IndexedFields {
		got[name] = string(p.GetMetadata()["type"])
	}
	assert.Equal(t, map[string]string{
		"City": "Keyword", "Note": "Keyword", "Count": "", "Own": "", "BuildIds": "KeywordList", "Gone": "", "WorkflowId": "",
	}, got)
	unknown := func() (types, error) { return nil, errors.New("unknown") }
	require.Error(t, attributes.Describe(all, unknown))
	delete(all.IndexedFields, "Own")
	delete(all.IndexedFields, "Count")
	delete(all.IndexedFields, "WorkflowId")
	require.NoError(t, attributes.Describe(all, unknown), "everything has a type")
	require.NoError(t, attributes.Describe(nil, nil))
}

// TestWhatNobodySets are the names of the service, and what is too much.
func TestWhatNobodySets(t *testing.T) {
	t.Parallel()
	var invalid *serviceerror.InvalidArgument
	for _, name := range []string{"WorkflowId", "ExecutionStatus", "NamespaceId", "TemporalWorkerDeployment"} {
		require.ErrorAs(t, check(name, payload("", `"a"`), nil), &invalid, name)
	}
	require.NoError(t, check("TemporalChangeVersion", payload("", `["a-1"]`), nil))
	require.ErrorAs(t, check("TemporalSchedulePaused", payload("Keyword", `"a"`), nil), &invalid, "its type is Bool whatever the value says")
	require.ErrorContains(t, check("Own", payload("", `"`+strings.Repeat("a", 2048)+`"`), nil), "exceeds size limit 2048")
	many := &common.SearchAttributes{IndexedFields: map[string]*common.Payload{}}
	for i := range 101 {
		many.IndexedFields[fmt.Sprint("a", i)] = payload("", "1")
	}
	require.ErrorContains(t, attributes.Complete(many, nil), "number of search attributes 101 exceeds limit 100")
	for i := range 101 {
		many.IndexedFields[fmt.Sprint("a", i)] = payload("", `"`+strings.Repeat("a", 1000)+`"`)
	}
	delete(many.IndexedFields, "a0")
	require.ErrorContains(t, attributes.Complete(many, nil), "exceeds size limit 40960")
	unknown := errors.New("unknown")
	err := attributes.Complete(many, func() (types, error) { return nil, unknown })
	require.ErrorIs(t, err, unknown)
	require.NoError(t, attributes.Complete(nil, nil))
}

func TestNames(t *testing.T) {
	t.Parallel()
	for alias, want := range map[string]string{
		"ScheduleId": "WorkflowId", "TemporalScheduleId": "WorkflowId", "ScheduledById": "TemporalScheduledById", "TemporalWorkflowId": "WorkflowId",
		"TemporalBuildIds": "BuildIds", "SchedulePaused": "TemporalSchedulePaused", "Customer": "", "TemporalCustomer": "", "Temporal": "", "": "",
	} {
		got, ok := attributes.Alias(alias)
		assert.Equal(t, want != "", ok, alias)
		if ok {
			assert.Equal(t, want, got, alias)
		}
	}
	all := attributes.All()
	assert.Equal(t, enums.INDEXED_VALUE_TYPE_INT, all["ExecutionDuration"])
	assert.Equal(t, enums.INDEXED_VALUE_TYPE_KEYWORD_LIST, all["TemporalPauseInfo"])
	keyword := enums.INDEXED_VALUE_TYPE_KEYWORD
	for _, name := range []string{"RunId", "BuildIds", "TemporalOwn", "Memo", "a b", "", "1a", strings.Repeat("a", 129)} {
		require.Error(t, attributes.CheckNew(name, keyword), name)
	}
	require.NoError(t, attributes.CheckNew("Own_1-a", keyword))
	require.Error(t, attributes.CheckNew("Own", enums.INDEXED_VALUE_TYPE_UNSPECIFIED))
	require.Error(t, attributes.CheckNew("Own", 99))
}

func TestTypeOf(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]enums.IndexedValueType{
		`"a"`: enums.INDEXED_VALUE_TYPE_KEYWORD, `["a"]`: enums.INDEXED_VALUE_TYPE_KEYWORD_LIST, `1`: enums.INDEXED_VALUE_TYPE_DOUBLE,
		`true`: enums.INDEXED_VALUE_TYPE_BOOL, `?`: enums.INDEXED_VALUE_TYPE_KEYWORD,
	} {
		assert.Equal(t, want, attributes.TypeOf(payload("", data)), data)
	}
	assert.Equal(t, enums.INDEXED_VALUE_TYPE_INT, attributes.TypeOf(payload("Int", "1")))
	assert.Equal(t, enums.INDEXED_VALUE_TYPE_INT, attributes.TypeOf(payload("INDEXED_VALUE_TYPE_INT", "1")))
}
