package yamltext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []Document
	}{
		"none":            {"", nil},
		"comments":        {"# a\n---\n--- # b\n\n...\n", nil},
		"one":             {"a: 1\nb: 2", []Document{{"a: 1\nb: 2", 0}}},
		"two":             {"# x\n---\na\n---\nb\n", []Document{{"---\na\n", 1}, {"---\nb\n", 3}}},
		"on the line":     {"--- a\n---\tb", []Document{{"--- a\n", 0}, {"---\tb", 1}}},
		"CRLF":            {"a\r\n---\r\nb\r\n...\r\nc", []Document{{"a\r\n", 0}, {"---\r\nb\r\n...\r\n", 1}, {"c", 4}}},
		"no mark":         {"a: ---\n ---\n----\n---b\n....\n", []Document{{"a: ---\n ---\n----\n---b\n....\n", 0}}},
		"in a block":      {"a: |\n  ---\n---\nb", []Document{{"a: |\n  ---\n", 0}, {"---\nb", 2}}},
		"end":             {"a\n...\n# x\nb", []Document{{"a\n...\n", 0}, {"# x\nb", 2}}},
		"end and nothing": {"a\n... # x\n\n", []Document{{"a\n... # x\n", 0}}},
		"directives":      {"a\n...\n# x\n%YAML 1.1\n---\nb", []Document{{"a\n...\n", 0}, {"# x\n%YAML 1.1\n---\nb", 2}}},
		"no more than":    {"%YAML 1.1\n", []Document{{"%YAML 1.1\n", 0}}},
		"comment at last": {"a\n---\n# x", []Document{{"a\n", 0}}},
	} {
		var got []Document
		for document := range Documents(test.text) {
			got = append(got, document)
			require.Equal(t, lineOf(test.text, document.Text), lineOf(document.Placed(), document.Text), name)
		}
		assert.Equal(t, test.want, got, name)
	}
	for range Documents("a\n---\nb\n...\nc") {
		break // is heeded
	}
}

func lineOf(text, part string) int {
	return strings.Count(text[:strings.LastIndex(text, part)], "\n")
}
