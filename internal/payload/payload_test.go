package payload_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/payload"
)

func of(encoding, data string) payload.Payload {
	return payload.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: []byte(data)}
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		payload payload.Payload
		want    string
	}{
		"a text":          {of("json/plain", `"two"`), `"two"`},
		"an object":       {of("json/plain", `{"b":1,"a":{}}`), `{"b":1,"a":{}}`},
		"nothing":         {of("binary/null", ""), `null`},
		"a null as JSON":  {of("json/plain", "null"), `{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"bnVsbA=="}`},
		"bytes":           {of("binary/plain", "\x00\xff"), `{"metadata":{"encoding":"YmluYXJ5L3BsYWlu"},"data":"AP8="}`},
		"no metadata":     {payload.Payload{Data: []byte("x")}, `{"metadata":{},"data":"eA=="}`},
		"empty":           {payload.Payload{}, `{"metadata":{},"data":""}`},
		"more metadata":   {payload.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("Keyword")}, Data: []byte(`"x"`)}, `{"metadata":{"encoding":"anNvbi9wbGFpbg==","type":"S2V5d29yZA=="},"data":"Ingi"}`},
		"space":           {of("json/plain", "[ 1]"), `{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"WyAxXQ=="}`},
		"no JSON":         {of("json/plain", "{"), `{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"ew=="}`},
		"twice the same":  {of("json/plain", `{"a":1,"a":2}`), `{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"eyJhIjoxLCJhIjoyfQ=="}`},
		"looks like one":  {of("json/plain", `{"data":"","metadata":{}}`), `{"metadata":{"encoding":"anNvbi9wbGFpbg=="},"data":"eyJkYXRhIjoiIiwibWV0YWRhdGEiOnt9fQ=="}`},
		"nearly like one": {of("json/plain", `{"data":"","metadata":{},"more":1}`), `{"data":"","metadata":{},"more":1}`},
	} {
		assert.Equal(t, test.want, string(test.payload.Text()), name)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"metadata":1,"data":""}`:                "metadata",
		`{"metadata":null,"data":""}`:             "metadata",
		`{"metadata":{},"data":5}`:                "data",
		`{"metadata":{},"data":null}`:             "data",
		`{"metadata":{},"data":"a"}`:              "data",
		`{"metadata":{"encoding":"?"},"data":""}`: "metadata.encoding",
		`{"metadata":{"a b":null},"data":""}`:     `metadata["a b"]`,

		`{"metadata":{},"data":"","externalPayloads":["x"]}`: "externalPayloads",
	} {
		_, problem := payload.Parse(json.RawMessage(text))
		if assert.NotNil(t, problem, text) {
			assert.Equal(t, want, problem.Path, text)
		}
		_, problem = payload.ParseList(json.RawMessage("[0," + text + "]"))
		if assert.NotNil(t, problem, text) {
			assert.Equal(t, "[1]."+want, problem.Path, text)
		}
	}
}

func TestParseList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]payload.Payload{
		"":                  nil,
		" [] ":              {},
		`[ 1, null,"two" ]`: {of("json/plain", "1"), of("binary/null", ""), of("json/plain", `"two"`)},
	} {
		list, problem := payload.ParseList(json.RawMessage(text))
		require.Nil(t, problem, text)
		require.Len(t, list, len(want), text)
		for i := range want {
			requireSame(t, want[i], list[i])
		}
	}
	for _, text := range []string{"null", "{}", `"x"`, "1"} {
		_, problem := payload.ParseList(json.RawMessage(text))
		if assert.NotNil(t, problem, text) {
			assert.Empty(t, problem.Path)
		}
	}
}

// requireSame compares payloads as protobuf does: an empty value and none are the same.
func requireSame(t require.TestingT, want, got payload.Payload) {
	require.Equal(t, string(want.Data), string(got.Data))
	require.True(t, slices.Equal(want.External, got.External))
	require.Len(t, got.Metadata, len(want.Metadata))
	for name, value := range want.Metadata {
		require.Equal(t, string(value), string(got.Metadata[name]), name)
		require.Contains(t, got.Metadata, name)
	}
}

// values draws JSON texts that are easily taken for something else.
func values() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"null", "1", "1.0", "1e400", `"é"`, `"\u003c"`, "[]", "{}", `{"metadata":{},"data":""}`, `{"metadata":{"a":"eA=="},"data":"eA=="}`,
			`{"data":null,"metadata":null}`, `{"data":1}`, `{"metadata":{}}`, `{"metadata":{},"data":"","externalPayloads":[7]}`, ` [1]`, "[1 ]", "{", "", "\xff", `{"a":1,"a":1}`, `"\ud800"`,
		}),
		rapid.Map(rapid.String(), func(s string) string {
			text, _ := jsontext.Encode(s)
			return string(text)
		}),
		rapid.String(),
	)
}

// TestNoPayloadIsLost: every payload becomes a JSON value that the model accepts, and is read from it as it was.
func TestNoPayloadIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := payload.Payload{Data: []byte(values().Draw(t, "data"))}
		if rapid.Bool().Draw(t, "encoded") {
			p.Metadata = map[string][]byte{"encoding": []byte(rapid.SampledFrom([]string{"json/plain", "binary/null", "binary/plain", ""}).Draw(t, "encoding"))}
			for name := range rapid.MapOfN(rapid.String(), rapid.Bool(), 0, 2).Draw(t, "more") {
				p.Metadata[name] = []byte(rapid.String().Draw(t, "value"))
			}
		}
		p.External = rapid.SliceOfN(rapid.Int64(), 0, 2).Draw(t, "external")
		text := p.Text()
		require.Nil(t, jsontext.Check(text, 100), "%s", text)
		list, err := jsontext.Encode([]json.RawMessage{text, text})
		require.NoError(t, err)
		read, problem := payload.ParseList(list)
		require.Nil(t, problem, "%s", text)
		requireSame(t, p, read[0])
		requireSame(t, p, read[1])
	})
}

// TestNoValueIsLost: every JSON value that Parse accepts is written as the same value.
func TestNoValueIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := values().Draw(t, "value")
		if jsontext.Check([]byte(text), 100) != nil {
			t.Skip("it is no JSON")
		}
		p, problem := payload.Parse(json.RawMessage(text))
		if problem != nil {
			t.Skip("it looks like a payload")
		}
		again, problem := payload.Parse(p.Text())
		require.Nil(t, problem)
		requireSame(t, p, again)
		if !strings.Contains(text, "metadata") {
			require.Equal(t, strings.TrimSpace(strings.ReplaceAll(text, " ]", "]")), string(p.Text()))
		}
	})
}
