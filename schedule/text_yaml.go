package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// DecodeYAML reads one YAML document into the value that into points to, by the rules of [DecodeJSON]: the document is
// turned into JSON first. Beside that:
//
//   - a number must be one that JSON has; 0x1F, 08, 1_000 and .inf are errors, because readers of YAML disagree on them;
//   - only true and false, in the usual capitalisations, are booleans; yes, no, on and off are text;
//   - a date or time is the text it was written as;
//   - aliases are expanded, within [MaxTextBytes]; merge keys ("<<") and tags beyond the JSON types are errors;
//   - white space and comments alone are an error, as is a second document: see [DecodeYAMLDocuments].
func DecodeYAML(data []byte, into any) error {
	documents, err := readYAML(data)
	switch {
	case err != nil:
		return err
	case len(documents) == 0:
		return Errorf(CodeInvalidArgument, "the text holds no document")
	case len(documents) > 1:
		return Errorf(CodeInvalidArgument, "the text holds %d documents: only one is accepted here", len(documents))
	}
	return DecodeJSON(documents[0], into)
}

// DecodeYAMLDocuments reads the documents of a YAML text, which "---" separates, by the rules of [DecodeYAML]. Documents
// without content are skipped; a text without documents gives none.
//
// An error in one of several documents names it, counting from 1 those that have content: "document 2: action.taskQueu:
// unknown field, …". It wraps the *Error.
func DecodeYAMLDocuments[T any](data []byte) ([]T, error) {
	documents, err := readYAML(data)
	if err != nil {
		return nil, err
	}
	values := make([]T, len(documents))
	for i, document := range documents {
		err := DecodeJSON(document, &values[i])
		if err != nil && len(documents) > 1 {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// readYAML turns the documents of data into JSON.
func readYAML(data []byte) ([][]byte, error) {
	if err := checkSize(len(data)); err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, Errorf(CodeInvalidArgument, "is not valid UTF-8")
	}
	var documents [][]byte
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, Errorf(CodeInvalidArgument, "is not valid YAML: %s", yamlProblem(string(data), err))
		}
		if isEmpty(&document) {
			continue
		}
		converted, err := toJSON(&document)
		if err != nil {
			return nil, err
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
