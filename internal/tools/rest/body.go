package rest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"github.com/codemode-project/codemode/internal/strictjson"
	"github.com/codemode-project/codemode/internal/tools/openapi"
)

// fileName is the name of every file that is sent.
const fileName = "file"

// formDepth is how deep an object in a form may be.
const formDepth = 8

// A field is a member of a body.
type field struct {
	name  string
	value strictjson.Value
	at    string
}

// writeBody writes a body and says its media type, "" if there is none. Numbers keep their digits.
func writeBody(body *openapi.Body, args strictjson.Value) (raw []byte, media string, err error) {
	if media, err = mediaType(body.Media); err != nil {
		return nil, "", err
	}
	whole, fields, given := fieldsOf(body, args)
	switch {
	case !given && body.Required && body.Argument != "":
		return nil, "", &ArgumentError{pointer(body.Argument), "it has to be given"}
	case !given && !body.Required:
		return nil, "", nil
	case media == "multipart/form-data":
		return multiparts(body, fields)
	case media == "application/x-www-form-urlencoded":
		raw, err = form(body, fields)
	case isJSON(media) && body.Argument != "":
		raw = []byte(whole.Compact())
	case isJSON(media):
		raw = object(fields)
	case body.Argument == "":
		err = fmt.Errorf("a body of %s cannot be made of several arguments", media)
	default:
		raw, err = content(whole, pointer(body.Argument))
	}
	return raw, media, err
}

// fieldsOf returns the whole body, its members, and whether anything is given.
func fieldsOf(body *openapi.Body, args strictjson.Value) (whole strictjson.Value, fields []field, given bool) {
	if body.Argument != "" {
		whole, given = args.Member(body.Argument)
		for name, v := range whole.Members() {
			fields = append(fields, field{name, v, strictjson.AppendToken(pointer(body.Argument), name)})
		}
		return whole, fields, given
	}
	for name, v := range args.Members() {
		if slices.Contains(body.Members, name) {
			fields = append(fields, field{name, v, pointer(name)})
		}
	}
	return whole, fields, len(fields) > 0
}

func object(fields []field) []byte {
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strictjson.AppendString(out, f.name), ':')
		out = f.value.AppendCompact(out)
	}
	return append(out, '}')
}

// mediaType checks the media type of a description.
func mediaType(text string) (string, error) {
	base, params, err := mime.ParseMediaType(text)
	switch {
	case err != nil || !isHeaderText(text):
		return "", fmt.Errorf("the description sends the media type %.60q, which is none", text)
	case strings.Contains(base, "*"):
		return "application/octet-stream", nil
	case isJSON(base) || base == "application/x-www-form-urlencoded" || strings.HasPrefix(base, "multipart/"):
		return base, nil // with no charset and no boundary but ours
	}
	return mime.FormatMediaType(base, params), nil
}

func isJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// content is the bytes of a text or of {"base64": "..."}.
func content(v strictjson.Value, at string) ([]byte, error) {
	if v.Kind() == strictjson.String {
		return []byte(v.Text()), nil
	}
	coded, ok := v.Member("base64")
	if !ok || v.Len() != 1 {
		return nil, &ArgumentError{at, `it has to be a text, or {"base64": "..."} for bytes`}
	}
	raw, err := base64.StdEncoding.DecodeString(coded.Text())
	if err != nil || coded.Kind() != strictjson.String {
		return nil, &ArgumentError{strictjson.AppendToken(at, "base64"), "it is not base64"}
	}
	return raw, nil
}

// form writes fields as a form. What has no style is written plainly, and as JSON if it is an object.
func form(body *openapi.Body, fields []field) ([]byte, error) {
	var all []pair
	for _, f := range fields {
		part := body.Parts[f.name]
		p := openapi.Parameter{Name: f.name, Style: part.Style, Explode: part.Explode || part.Style == ""}
		if isJSON(part.Media) || part.Style == "" && f.value.Kind() == strictjson.Object {
			all = append(all, pair{escape(f.name), escape(f.value.Compact())})
			continue
		}
		list, err := pairs(p, f.value, f.at, formDepth)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return []byte(joinPairs(all)), nil
}

// multiparts writes fields as multipart/form-data. The elements of an array are parts with the same name.
func multiparts(body *openapi.Body, fields []field) ([]byte, string, error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, f := range fields {
		values := []strictjson.Value{f.value}
		if f.value.Kind() == strictjson.Array && !isJSON(body.Parts[f.name].Media) {
			values = nil
			for _, e := range f.value.Elements() {
				values = append(values, e)
			}
		}
		for _, v := range values {
			if v.Kind() == strictjson.Null {
				continue
			}
			if err := addPart(w, f, v, body.Parts[f.name]); err != nil {
				return nil, "", err
			}
		}
	}
	err := w.Close()
	return out.Bytes(), w.FormDataContentType(), err
}

func addPart(w *multipart.Writer, f field, v strictjson.Value, part openapi.Part) error {
	media := part.Media
	raw, err := []byte(v.Text()), error(nil)
	_, coded := v.Member("base64")
	binary := part.Binary || coded && !isJSON(media)
	switch {
	case binary:
		raw, err = content(v, f.at)
		media = cmp.Or(media, "application/octet-stream")
	case isJSON(media), v.Kind() == strictjson.Array, v.Kind() == strictjson.Object:
		raw, media = []byte(v.Compact()), "application/json"
	case v.Kind() == strictjson.True, v.Kind() == strictjson.False:
		raw = []byte(v.Source())
	}
	if err != nil {
		return err
	}
	h := textproto.MIMEHeader{}
	disposition := multipart.FileContentDisposition(f.name, fileName) // it escapes the name
	if !binary {
		disposition = strings.TrimSuffix(disposition, `; filename="`+fileName+`"`)
	}
	h.Set("Content-Disposition", disposition)
	if media != "" {
		if media, err = mediaType(media); err != nil {
			return err
		}
		h.Set("Content-Type", media)
	}
	to, err := w.CreatePart(h)
	if err == nil {
		_, err = to.Write(raw)
	}
	return err
}
