package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// confusable are letters of other scripts that look like letters of Latin, from the confusables of Unicode.
var confusable = strings.NewReplacer(confusables(
	// Cyrillic
	"аa", "ВB", "вb", "еe", "КK", "кk", "МM", "мm", "НH", "нh", "оo", "рp", "сc", "ТT", "тt", "уy", "хx", "іi", "ѕs",
	"јj", "ԁd", "һh", "ԛq", "ԝw", "ѵv", "ӏl", "АA", "ЕE", "ОO", "РP", "СC", "УY", "ХX", "ІI", "ЅS", "ЈJ", "ԌG", "ҮY",
	"Ѵv", "ԚQ", "ԜW", "Ӏl", "гr", "ьb", "зz", "З3", "б6", "пn", "иu",
	// Greek
	"αa", "Αa", "βb", "Βb", "γy", "εe", "Εe", "Ζz", "ηn", "Ηh", "ιi", "Ιi", "κk", "Κk", "Μm", "νv", "Νn", "οo", "Οo",
	"ρp", "Ρp", "σo", "τt", "Τt", "υu", "Υy", "χx", "Χx", "ωw", "ϲc", "ϳj", "ϹC",
	// Armenian, Cherokee, Georgian, Hebrew, digits
	"օo", "սu", "ոn", "հh", "ցg", "զq", "ՏS", "ԼL", "ՕO", "Ꭺa", "Ᏼb", "Ꮯc", "Ꭰd", "Ꭼe", "Ꮐg", "Ꮋh", "Ꭻj", "Ꮶk", "Ꮮl",
	"Ꮇm", "Ꮲp", "Ꮪs", "Ꭲt", "Ꮩv", "Ꮃw", "Ꮓz", "ჿy", "וi", "סo", "ןl", "٥o", "۵o", "੦o", "೦o", "൦o", "๐o", "໐o", "०o",
	"০o", "௦o", "౦o",
	// Latin
	"ıi", "ɑa", "ɡg", "ɩi", "ʏy", "ȷj", "łl", "øo", "đd", "ħh", "ŧt", "ƚl", "ǀl", "ɵo", "ʋv", "ſf", "‿_", "⁀_",
	// Han and kana
	"ー一", "ロ口", "ニ二", "ハ八", "エ工", "カ力", "タ夕", "ト卜", "へヘ",
)...)

// confusables makes the arguments of a replacer from pairs of characters. A capital stands for a capital.
func confusables(pairs ...string) (all []string) {
	for _, pair := range pairs {
		c, size := utf8.DecodeRuneInString(pair)
		like := pair[size:]
		if unicode.IsUpper(c) {
			like = strings.ToUpper(like)
		}
		all = append(all, string(c), like)
	}
	return all
}

// Alike reports whether a reader, or an upstream that ignores case, may take two different texts for the same.
func Alike(a, b string) bool {
	if a == b {
		return false
	}
	return strings.EqualFold(a, b) || !ascii(a+b) &&
		Skeleton(strings.ToLower(norm.NFKC.String(a))) == Skeleton(strings.ToLower(norm.NFKC.String(b)))
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// thin are characters that a person hardly tells apart in most fonts.
var thin = strings.NewReplacer("0", "O", "o", "O", "1", "l", "i", "l", "I", "l", "rn", "m", "vv", "w")

// Skeleton is what a text looks like: without the characters that [Rune] says nobody sees, and with one character for
// all that look like it. Two texts that a person may mistake for each other have the same skeleton.
func Skeleton(s string) string {
	seen := strings.Map(func(r rune) rune {
		if !Rune(r) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
	return thin.Replace(confusable.Replace(seen))
}
