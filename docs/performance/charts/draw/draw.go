package main

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

// point is one of 72 in an inch.
const point = vg.Inch / 72

const (
	// width is that of every chart: with it, text on a page is about as large as that around it.
	width       = 660 * point
	panelHeight = 200 * point
	// columns is how many panels there are side by side at most.
	columns = 3
	margin  = 10 * point
	gap     = 16 * point
	// caption is the height of the title of a panel, above its axes.
	caption = 20 * point
	header  = 52 * point
	footer  = 36 * point
)

// style is how a line looks: never by its colour alone.
type style struct {
	color  color.RGBA
	shape  draw.GlyphDrawer
	dashes []vg.Length
}

// The colours are those of Okabe and Ito, which people who see some colours less tell apart as well.
var (
	blue      = color.RGBA{R: 0x00, G: 0x72, B: 0xB2, A: 0xFF}
	vermilion = color.RGBA{R: 0xD5, G: 0x5E, B: 0x00, A: 0xFF}
	grey      = color.RGBA{R: 0x44, G: 0x44, B: 0x44, A: 0xFF}
	pale      = color.RGBA{R: 0xE4, G: 0xE4, B: 0xE4, A: 0xFF}

	short = []vg.Length{vg.Points(5), vg.Points(3)}

	styleP50    = style{color: blue, shape: draw.CircleGlyph{}}
	styleP99    = style{color: vermilion, shape: draw.PyramidGlyph{}, dashes: short}
	styleBefore = style{color: vermilion, shape: draw.SquareGlyph{}, dashes: short}
	styleOne    = style{color: blue, shape: draw.RingGlyph{}}
	styleThree  = style{color: vermilion, shape: draw.PyramidGlyph{}, dashes: short}
	styleAfter  = style{color: blue, shape: draw.CrossGlyph{}}
	styleOnly   = style{color: grey, shape: draw.BoxGlyph{}}
)

// sans is the font of all text. The library asks for that of axes here and nowhere else.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

func init() { plot.DefaultFont = sans }

// svg draws a chart. The same runs give the same bytes.
func (c *chart) svg() ([]byte, error) {
	if len(c.panels) == 0 || slices.ContainsFunc(c.panels, func(p panel) bool { return len(p.points()) == 0 }) {
		return nil, errNothing
	}
	across := columns
	if len(c.panels)%2 == 0 {
		across = 2
	}
	down := (len(c.panels) + across - 1) / across
	height := header + footer + vg.Length(down)*panelHeight
	canvas := vgsvg.New(width, height)
	page := draw.New(canvas)
	page.FillPolygon(color.White, rectangle(page.Rectangle)) // a page may be dark
	c.drawHeader(draw.Crop(page, margin, -margin, height-header, 0))
	c.drawFooter(draw.Crop(page, margin, -margin, 0, footer-height))
	if err := c.drawPanels(draw.Crop(page, margin, -margin, footer, -header), down, across); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	// Where that font is not installed, another of its kind has letters of about the same width.
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}

func rectangle(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

func letters(size float64, bold bool) text.Style {
	f := font.From(sans, vg.Points(size))
	if bold {
		f.Weight = stdfont.WeightBold
	}
	return text.Style{Color: color.Black, Font: f, Handler: plot.DefaultTextHandler}
}

func (c *chart) drawPanels(canvas draw.Canvas, down, across int) error {
	grid := make([][]*plot.Plot, down)
	for row := range grid {
		grid[row] = make([]*plot.Plot, across)
		for column := range grid[row] {
			i := row*across + column
			if i >= len(c.panels) {
				continue
			}
			axes, err := c.panels[i].axes()
			if err != nil {
				return err
			}
			grid[row][column] = axes
		}
	}
	tiles := draw.Tiles{Rows: down, Cols: across, PadTop: caption, PadX: gap, PadY: gap + caption}
	title := letters(9.5, true)
	title.YAlign = draw.YTop
	for row, canvases := range plot.Align(grid, tiles, canvas) {
		for column, tile := range canvases {
			if axes := grid[row][column]; axes != nil {
				axes.Draw(tile)
				place := tiles.At(canvas, column, row) // the tile itself is laid out so that the axes are in line
				canvas.FillText(title, vg.Point{X: place.Min.X, Y: place.Max.Y + caption}, c.panels[row*across+column].title)
			}
		}
	}
	return nil
}

// axes is a panel with everything in it.
func (p *panel) axes() (*plot.Plot, error) {
	axes := plot.New()
	axes.X.Label.Text, axes.Y.Label.Text = p.x, p.y
	for _, axis := range []*plot.Axis{&axes.X, &axes.Y} {
		axis.Label.TextStyle.Font.Size, axis.Tick.Label.Font.Size = vg.Points(9), vg.Points(9)
		axis.Label.Padding, axis.Tick.Length = vg.Points(4), vg.Points(5)
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = grey, grey
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, pale
	axes.Add(grid)
	for _, l := range p.lines {
		if err := l.addTo(axes); err != nil {
			return nil, err
		}
	}
	p.scaleTo(axes)
	return axes, nil
}

// spreads gives the plotter the medians, and how far the least and the most are from them.
type spreads []figures.Point

func (s spreads) Len() int                { return len(s) }
func (s spreads) XY(i int) (x, y float64) { return s[i].X, s[i].Median }
func (s spreads) YError(i int) (low, high float64) {
	return s[i].Median - s[i].Least, s[i].Most - s[i].Median
}

func (l *line) addTo(axes *plot.Plot) error {
	medians, shapes, err := plotter.NewLinePoints(spreads(l.points))
	if err != nil {
		return err
	}
	bars, err := plotter.NewYErrorBars(spreads(l.points))
	if err != nil {
		return err
	}
	medians.LineStyle, shapes.GlyphStyle = l.style.stroke(), l.style.glyph()
	bars.LineStyle.Color, bars.LineStyle.Width, bars.CapWidth = l.style.color, vg.Points(1), vg.Points(6)
	axes.Add(medians, bars, shapes)
	return nil
}

func (s style) stroke() draw.LineStyle {
	return draw.LineStyle{Color: s.color, Width: vg.Points(1.5), Dashes: s.dashes}
}

func (s style) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.color, Radius: vg.Points(3), Shape: s.shape}
}

// drawHeader writes the title, and under it what the lines are.
func (c *chart) drawHeader(canvas draw.Canvas) {
	title := letters(11.5, true)
	title.YAlign = draw.YTop
	canvas.FillText(title, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y - margin}, c.title)
	const sample = 28 * point
	label := letters(9, false)
	label.YAlign = draw.YCenter
	at := vg.Point{X: canvas.Min.X, Y: canvas.Min.Y + vg.Points(12)}
	for _, l := range c.legend() {
		end := vg.Point{X: at.X + sample, Y: at.Y}
		canvas.StrokeLine2(l.style.stroke(), at.X, at.Y, end.X, end.Y)
		canvas.DrawGlyph(l.style.glyph(), vg.Point{X: (at.X + end.X) / 2, Y: at.Y})
		end.X += vg.Points(5)
		canvas.FillText(label, end, l.name)
		at.X = end.X + label.Width(l.name) + vg.Points(22)
	}
}

// legend are the lines that have a name, each once.
func (c *chart) legend() []line {
	var lines []line
	for _, p := range c.panels {
		for _, l := range p.lines {
			if l.name != "" && !slices.ContainsFunc(lines, func(known line) bool { return known.name == l.name }) {
				lines = append(lines, l)
			}
		}
	}
	return lines
}

// drawFooter says what the figures are worth: how many runs there were, of what, and where.
func (c *chart) drawFooter(canvas draw.Canvas) {
	small := letters(8, false)
	small.Color = grey
	for i, words := range c.caption() {
		canvas.FillText(small, vg.Point{X: canvas.Min.X, Y: canvas.Min.Y + vg.Points(19-11*float64(i))}, words)
	}
}

func (c *chart) caption() []string {
	fewest, most := len(c.runs), 0
	for _, n := range figures.Count(c.runs) {
		fewest, most = min(fewest, n), max(most, n)
	}
	samples := fmt.Sprintf("Medians of %d runs; bars reach from the least to the most.", most)
	switch {
	case most == 1:
		samples = "One run of each."
	case fewest < most:
		samples = strings.Replace(samples, "of ", fmt.Sprintf("of %d to ", fewest), 1)
	}
	where := []string{
		facts(c.runs, func(r *figures.Run) string { return r.TakenAt.Format("2006-01-02") }),
		facts(c.runs, func(r *figures.Run) string { return fmt.Sprint(r.Result.Environment.CPUs, " processors") }),
		facts(c.runs, func(r *figures.Run) string { return "NATS " + r.Result.Environment.NATSVersion }),
		facts(c.runs, func(r *figures.Run) string { return r.Result.Environment.Go }),
		"Carillon " + facts(c.runs, func(r *figures.Run) string { return r.Result.Environment.Version }),
	}
	return []string{
		samples + " " + cmp.Or(c.where, "All roles and the worker are one process, on one machine with NATS."),
		strings.Join(where, " · "),
	}
}

// facts are what some runs say, each once.
func facts(runs []figures.Run, say func(*figures.Run) string) string {
	return strings.Join(figures.Distinct(runs, say), ", ")
}
