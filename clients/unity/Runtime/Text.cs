using System.Text;

namespace Palpate
{
    /// <summary>Strings for C: UTF-8 with a terminating zero.</summary>
    internal static unsafe class Text
    {
        internal static byte[] Bytes(string text)
        {
            return text == null ? null : Encoding.UTF8.GetBytes(text + "\0");
        }

        internal static string Of(byte* text)
        {
            int length = 0;
            while (text[length] != 0)
            {
                length++;
            }
            return Encoding.UTF8.GetString(text, length);
        }
    }
}
