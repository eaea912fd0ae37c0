package apitext

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// toJSON writes a YAML document as JSON, with the keys in their order. Duplicates stay: the JSON side finds them.
func toJSON(document *yaml.Node) ([]byte, error) {
	var c yamlConverter
	if err := c.value(document.Content[0]); err != nil {
		return nil, err
	}
	return c.out.Bytes(), nil
}

// yamlConverter writes JSON. Its stack is bounded by jsontext.MaxDepth and its output by jsontext.MaxBytes, so aliases can
// neither loop nor explode.
type yamlConverter struct {
	out bytes.Buffer
	way jsontext.Trail
}

func (c *yamlConverter) value(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if len(c.way) > jsontext.MaxDepth {
		return invalid(jsontext.TooDeep(jsontext.MaxDepth))
	}
	if err := invalid(jsontext.CheckSize(c.out.Len())); err != nil {
		return err
	}
	switch {
	case node.Kind == yaml.MappingNode && node.ShortTag() == "!!map":
		return c.mapping(node)
	case node.Kind == yaml.SequenceNode && node.ShortTag() == "!!seq":
		return c.sequence(node)
	case node.Kind == yaml.ScalarNode:
		return c.scalar(node)
	}
	return c.badTag(node)
}

func (c *yamlConverter) mapping(node *yaml.Node) error {
	c.out.WriteByte('{')
	for i := 0; i+1 < len(node.Content); i += 2 {
		if i > 0 {
			c.out.WriteByte(',')
		}
		key, err := c.key(node.Content[i])
		if err != nil {
			return err
		}
		c.text(key)
		c.out.WriteByte(':')
		if err := c.at(jsontext.Step{Key: &key}, node.Content[i+1]); err != nil {
			return err
		}
	}
	c.out.WriteByte('}')
	return nil
}

func (c *yamlConverter) sequence(node *yaml.Node) error {
	c.out.WriteByte('[')
	for i, element := range node.Content {
		if i > 0 {
			c.out.WriteByte(',')
		}
		if err := c.at(jsontext.Step{Index: i}, element); err != nil {
			return err
		}
	}
	c.out.WriteByte(']')
	return nil
}

// at writes the value that the step leads to.
func (c *yamlConverter) at(s jsontext.Step, node *yaml.Node) error {
	c.way = append(c.way, s)
	err := c.value(node)
	c.way = c.way[:len(c.way)-1]
	return err
}

// key returns the text of a key. Numbers, booleans and dates are used as they were written.
func (c *yamlConverter) key(node *yaml.Node) (string, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.ScalarNode || node.ShortTag() == "!!null" {
		return "", c.invalid("line %d: a key must be text", node.Line)
	}
	if node.ShortTag() == "!!merge" {
		return "", c.invalid("line %d: merge keys (<<) are not supported: write the fields out", node.Line)
	}
	return node.Value, nil
}

func (c *yamlConverter) scalar(node *yaml.Node) error {
	tag := node.ShortTag()
	// The YAML library treats a number too large for it as text, but JSON numbers may have any size.
	if node.Style == 0 && tag == "!!str" && isJSONNumber(node.Value) {
		tag = "!!float"
	}
	switch tag {
	case "!!str", "!!timestamp":
		c.text(node.Value)
	case "!!null":
		c.out.WriteString("null")
	case "!!bool":
		return c.boolean(node.Value)
	case "!!int", "!!float":
		return c.number(node.Value)
	default:
		return c.badTag(node)
	}
	return nil
}

func (c *yamlConverter) text(text string) {
	encoded, _ := EncodeJSON(text) // a string always can be
	c.out.Write(encoded)
}

func (c *yamlConverter) boolean(text string) error {
	lower := strings.ToLower(text)
	if lower != "true" && lower != "false" {
		return c.invalid("must be true or false, not %q", jsontext.Shorten(text))
	}
	c.out.WriteString(lower)
	return nil
}

func (c *yamlConverter) number(text string) error {
	if !isJSONNumber(text) {
		return c.invalid("%s is not a number as JSON writes it: write it in decimal, or in quotes if it is text", jsontext.Shorten(text))
	}
	c.out.WriteString(text)
	return nil
}

func (c *yamlConverter) badTag(node *yaml.Node) error {
	return c.invalid("the tag %s is not supported: only JSON types are", jsontext.Shorten(node.ShortTag()))
}

func (c *yamlConverter) invalid(format string, args ...any) error {
	return schedule.Invalid(c.way.String(), format, args...)
}

func isJSONNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}
