package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// labels is a set of names of labels.
type labels map[string]bool

func labelSet(names ...string) labels {
	set := labels{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

func (l labels) String() string { return strings.Join(slices.Sorted(maps.Keys(l)), ", ") }

// aggregations and functions are what expressions may call. The value of a function says which argument has the labels of
// the result; with -1 the result has none.
var (
	aggregations = labelSet("sum", "min", "max", "avg", "count", "topk", "bottomk")
	functions    = map[string]int{
		"rate": 0, "increase": 0, "delta": 0, "deriv": 0, "clamp_min": 0, "clamp_max": 0, "abs": 0, "resets": 0,
		"max_over_time": 0, "min_over_time": 0, "avg_over_time": 0, "last_over_time": 0, "histogram_quantile": 1,
		"absent": 0, "scalar": -1, "vector": -1, "time": -1, "timestamp": 0, "sort_desc": 0,
	}
	comparisons = labelSet("==", "!=", ">", "<", ">=", "<=", "+", "-", "*", "/", "%", "^", "and", "or", "unless")
)

// parser reads the part of PromQL that dashboards and rules use. It works out which labels the result has, and fails at
// a metric or label that the catalogue does not have.
type parser struct {
	known catalogue
	rest  []token
	used  labels // metrics that have been named
}

// labelsOf returns the labels that the result of an expression may have, and the metrics it names.
func labelsOf(known catalogue, expr string) (result, metrics labels, err error) {
	all, err := tokens(expr)
	if err != nil {
		return nil, nil, err
	}
	p := &parser{known: known, rest: all, used: labels{}}
	if result, err = p.expression(); err != nil {
		return nil, nil, fmt.Errorf("%w in: %s", err, expr)
	}
	if p.rest[0].kind != tokenEnd {
		return nil, nil, fmt.Errorf("%q is not expected in: %s", p.rest[0].text, expr)
	}
	return result, p.used, nil
}

// next takes a token.
func (p *parser) next() token {
	t := p.rest[0]
	if t.kind != tokenEnd {
		p.rest = p.rest[1:]
	}
	return t
}

// take takes the next token if it is this one.
func (p *parser) take(text string) bool {
	if p.rest[0].kind == tokenText || p.rest[0].text != text {
		return false
	}
	p.next()
	return true
}

func (p *parser) need(text string) error {
	if !p.take(text) {
		return fmt.Errorf("%q is where %q belongs", p.rest[0].text, text)
	}
	return nil
}

// expression reads operands and the operators between them. Which of them binds tighter makes no difference to the labels.
func (p *parser) expression() (labels, error) {
	left, err := p.operand()
	for err == nil && comparisons[p.rest[0].text] && p.rest[0].kind != tokenText {
		operator := p.next().text
		p.take("bool")
		left, err = p.right(operator, left)
	}
	return left, err
}

// right reads what follows an operator.
func (p *parser) right(operator string, left labels) (labels, error) {
	matched, on, err := p.matching()
	if err != nil {
		return nil, err
	}
	grouped := p.take("group_left")
	if grouped && p.rest[0].text == "(" {
		extra, err := p.names()
		if err != nil {
			return nil, err
		}
		left = union(left, labelSet(extra...))
	}
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	for _, name := range matched {
		if !left[name] && !right[name] || on && !(left[name] && right[name]) {
			return nil, fmt.Errorf("the label %s is not on the sides of %s", name, operator)
		}
	}
	switch {
	case operator == "or":
		return union(left, right), nil
	case operator == "and" || operator == "unless" || grouped:
		return left, nil
	case on:
		return labelSet(matched...), nil
	case len(left) == 0:
		return right, nil
	}
	return left, nil
}

// matching reads by which labels an operator matches its sides.
func (p *parser) matching() (matched []string, on bool, err error) {
	if on = p.take("on"); on || p.take("ignoring") {
		matched, err = p.names()
	}
	return matched, on, err
}

// operand reads one operand with what may follow it: a range and an offset.
func (p *parser) operand() (labels, error) {
	if p.take("-") {
		return p.operand()
	}
	result, err := p.primary()
	for err == nil {
		switch {
		case p.take("["):
			p.next()
			if p.take(":") && p.rest[0].text != "]" {
				p.next()
			}
			err = p.need("]")
		case p.take("offset"):
			p.next()
		default:
			return result, nil
		}
	}
	return nil, err
}

func (p *parser) primary() (labels, error) {
	if p.take("(") {
		result, err := p.expression()
		if err != nil {
			return nil, err
		}
		return result, p.need(")")
	}
	t := p.next()
	switch {
	case t.kind == tokenNumber || t.kind == tokenText:
		return labels{}, nil
	case t.kind != tokenName:
		return nil, fmt.Errorf("%q is not expected", t.text)
	case aggregations[t.text]:
		return p.aggregation(t.text)
	case p.rest[0].text == "(":
		return p.call(t.text)
	}
	return p.selector(t.text)
}

// aggregation reads what follows the name of an aggregation: by or without may stand before its argument or after it.
func (p *parser) aggregation(name string) (labels, error) {
	names, keep, given, err := p.grouping()
	if err != nil {
		return nil, err
	}
	arguments, err := p.arguments()
	if err != nil {
		return nil, err
	}
	if !given {
		if names, keep, given, err = p.grouping(); err != nil {
			return nil, err
		}
	}
	argument := arguments[len(arguments)-1]
	for _, label := range names {
		if !argument[label] {
			return nil, fmt.Errorf("%s groups by %s; there are the labels %s", name, label, argument)
		}
	}
	switch {
	case name == "topk" || name == "bottomk":
		return argument, nil
	case given && !keep:
		result := maps.Clone(argument)
		for _, label := range names {
			delete(result, label)
		}
		return result, nil
	}
	return labelSet(names...), nil
}

// grouping reads by or without and their labels, if they are there.
func (p *parser) grouping() (names []string, keep, given bool, err error) {
	if keep = p.take("by"); keep || p.take("without") {
		given = true
		names, err = p.names()
	}
	return names, keep, given, err
}

func (p *parser) call(name string) (labels, error) {
	from, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("the function %s is not known here", name)
	}
	arguments, err := p.arguments()
	switch {
	case err != nil:
		return nil, err
	case from < 0:
		return labels{}, nil
	case from >= len(arguments):
		return nil, fmt.Errorf("%s has too few arguments", name)
	case name != "histogram_quantile":
		return arguments[from], nil
	case !arguments[from]["le"]:
		return nil, fmt.Errorf("%s needs buckets with the label le", name)
	}
	result := maps.Clone(arguments[from])
	delete(result, "le")
	return result, nil
}

// arguments reads a list in parentheses and returns the labels of each.
func (p *parser) arguments() ([]labels, error) {
	if err := p.need("("); err != nil {
		return nil, err
	}
	var all []labels
	for !p.take(")") {
		argument, err := p.expression()
		if err != nil {
			return nil, err
		}
		all = append(all, argument)
		if !p.take(",") && p.rest[0].text != ")" {
			return nil, fmt.Errorf("%q is where , or ) belongs", p.rest[0].text)
		}
	}
	return all, nil
}

// selector reads the matchers of a metric.
func (p *parser) selector(metric string) (labels, error) {
	known, ok := p.known[metric]
	if !ok {
		return nil, fmt.Errorf("there is no metric %s", metric)
	}
	p.used[metric] = true
	if !p.take("{") {
		return known.labels(), nil
	}
	for !p.take("}") {
		name, operator, value := p.next(), p.next(), p.next()
		if name.kind != tokenName || !slices.Contains([]string{"=", "!=", "=~", "!~"}, operator.text) || value.kind != tokenText {
			return nil, fmt.Errorf("%s has a matcher that cannot be read", metric)
		}
		if err := known.check(name.text, value.text); err != nil {
			return nil, fmt.Errorf("%s: %w", metric, err)
		}
		if !p.take(",") && p.rest[0].text != "}" {
			return nil, fmt.Errorf("%q is where , or } belongs", p.rest[0].text)
		}
	}
	return known.labels(), nil
}

// names reads a list of names in parentheses.
func (p *parser) names() ([]string, error) {
	if err := p.need("("); err != nil {
		return nil, err
	}
	var all []string
	for !p.take(")") {
		name := p.next()
		if name.kind != tokenName {
			return nil, fmt.Errorf("%q is not a label", name.text)
		}
		all = append(all, name.text)
		p.take(",")
	}
	return all, nil
}

// union returns the labels of both.
func union(a, b labels) labels {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
