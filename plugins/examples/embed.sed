# A text as the C string `content_sql`, line by line.
1i #pragma GCC diagnostic ignored "-Woverlength-strings"
1i static const char content_sql[] =
s/[\\"]/\\&/g
s/.*/    "&\\n"/
$a ;
