package apitext

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/yamltext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// DecodeYAML reads one YAML document into the value that into points to, by the rules of [DecodeJSON]. It first turns the
// document into JSON. In addition:
//
//   - A number must be valid in JSON; 0x1F, 08, 1_000 and .inf are errors, because YAML readers disagree on them.
//   - Only true and false, in the usual capitalisations, are booleans; yes, no, on and off are text.
//   - A date or time is text, as it was written.
//   - Aliases are expanded, within [jsontext.MaxBytes]; merge keys ("<<") and tags beyond the JSON types are errors.
//   - A text of only white space and comments is an error, and so is a second document: see [DecodeYAMLDocuments].
func DecodeYAML(data []byte, into any) error {
	if err := invalid(jsontext.CheckSize(len(data))); err != nil {
		return err
	}
	var only []byte
	count := 0
	for document, err := range YAMLDocuments(data) {
		if err != nil {
			return err
		}
		only = document
		count++
	}
	switch count {
	case 0:
		return schedule.Errorf(schedule.CodeInvalidArgument, "the text holds no document")
	case 1:
		return DecodeJSON(only, into)
	}
	return schedule.Errorf(schedule.CodeInvalidArgument, "the text holds %d documents: only one is accepted here", count)
}

// DecodeYAMLDocuments reads the documents of a YAML text, which "---" separates, by the rules of [DecodeYAML]. It skips documents
// without content; a text without documents gives none.
//
// If there are several documents, an error names its document. They are counted from 1, without the empty ones: "document 2:
// action.taskQueu: unknown field, …". It wraps the *Error.
func DecodeYAMLDocuments[T any](data []byte) ([]T, error) {
	var values []T
	var failed error
	at := 0
	for document, err := range YAMLDocuments(data) {
		var value T
		if err == nil {
			err = DecodeJSON(document, &value)
		}
		values = append(values, value)
		if err != nil && failed == nil {
			failed, at = err, len(values)
		}
	}
	switch {
	case failed == nil:
		return values, nil
	case len(values) > 1:
		failed = fmt.Errorf("document %d: %w", at, failed)
	}
	return nil, failed
}

// YAMLDocuments turns the documents of a YAML text into JSON, one after the other, by the rules of [DecodeYAML]. It skips
// documents without content. Each may have [jsontext.MaxBytes], both as YAML and as JSON, and all together any size. A document
// that cannot be read gives an [*schedule.Error] with CodeInvalidArgument, and the next one follows. A document does not know the
// anchors of another.
func YAMLDocuments(data []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if !utf8.Valid(data) {
			yield(nil, schedule.Errorf(schedule.CodeInvalidArgument, "is not valid UTF-8"))
			return
		}
		for document := range yamltext.Documents(string(data)) {
			converted, err := readDocument(document)
			for _, text := range converted {
				if !yield(text, nil) {
					return
				}
			}
			if err != nil && !yield(nil, err) {
				return
			}
		}
	}
}

// readDocument turns a text, which is one document as a rule, into JSON. Unusual line endings can make it several documents.
// Documents before an error are returned with it.
func readDocument(d yamltext.Document) ([][]byte, error) {
	if err := invalid(jsontext.CheckSize(len(d.Text))); err != nil {
		return nil, err
	}
	converted, err := readYAML(d.Text)
	if err != nil && d.Line > 0 {
		return readYAML(d.Placed()) // again, for the number of the line
	}
	return converted, err
}

func readYAML(text string) ([][]byte, error) {
	var documents [][]byte
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, schedule.Errorf(schedule.CodeInvalidArgument, "is not valid YAML: %s", yamlProblem(text, err))
		}
		if isEmpty(&document) {
			continue
		}
		converted, err := toJSON(&document)
		if err != nil {
			return documents, err
		}
		documents = append(documents, converted)
	}
}

// isEmpty reports whether a document holds nothing but white space and comments.
func isEmpty(document *yaml.Node) bool {
	if len(document.Content) == 0 {
		return true
	}
	root := document.Content[0]
	return root.Kind == yaml.ScalarNode && root.Value == "" && root.ShortTag() == "!!null"
}
